"""A window of Qt WebEngine that `browser` drives by the DevTools protocol, like Chromium: started as a process.

Qt reads the port for the protocol from the environment (see `browser`).
"""

from __future__ import annotations

import sys

from PySide6.QtCore import QUrl  # pyright: ignore[reportMissingImports]  in the group `browser`
from PySide6.QtWebEngineWidgets import QWebEngineView  # pyright: ignore[reportMissingImports]
from PySide6.QtWidgets import QApplication  # pyright: ignore[reportMissingImports]

if __name__ == "__main__":
    application = QApplication(sys.argv[:1])
    view = QWebEngineView()
    view.resize(1400, 900)
    view.load(QUrl("about:blank"))
    view.show()
    sys.exit(application.exec())
