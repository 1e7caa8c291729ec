is_dump=lambda f,n: False
read_dump=None
