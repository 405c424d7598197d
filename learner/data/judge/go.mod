module golore.invalid/judge

go 1.22
