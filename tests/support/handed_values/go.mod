module handed_values

go 1.24
