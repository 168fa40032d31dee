/** The store did not take a write. Nothing was written, and trying again may work. */
export class NotWritten extends Error {}

/** It did not get to the write in time. */
export class StoreBusy extends NotWritten {
  constructor(options?: ErrorOptions) {
    super("The store was busy for too long.", options);
    this.name = "StoreBusy";
  }
}

/** There is no room for anything new; what is running can still be settled. */
export class StoreFull extends NotWritten {
  constructor() {
    super("The store is full.");
    this.name = "StoreFull";
  }
}
