"""What tests share: real servers from wheels, fresh stores, processes that leave nothing behind."""
