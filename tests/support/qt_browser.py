"""A window of Qt WebEngine that `browser` drives by the DevTools protocol, like Chromium: started as a process.

Qt reads the port for the protocol from the environment (see `browser`).
"""

# Qt is in the dependency group `browser`, which is not installed where types are checked.
# pyright: reportMissingImports=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import sys

from PySide6.QtCore import QUrl
from PySide6.QtWebEngineCore import QWebEngineSettings
from PySide6.QtWebEngineWidgets import QWebEngineView
from PySide6.QtWidgets import QApplication

if __name__ == "__main__":
    application = QApplication(sys.argv[:1])
    view = QWebEngineView()
    view.resize(1400, 900)
    # As in browsers: a file may lead to a page of a server.
    view.settings().setAttribute(QWebEngineSettings.WebAttribute.LocalContentCanAccessRemoteUrls, True)
    view.load(QUrl("about:blank"))
    view.show()
    sys.exit(application.exec())
