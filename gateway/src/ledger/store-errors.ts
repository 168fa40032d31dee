/** The store did not take a write. Nothing was written, and trying again may work. */
export class NotWritten extends Error {}

/** Nobody knows whether it was written. Asking again, or reading, tells; trying something else does not. */
export class InDoubt extends Error {
  constructor(options?: ErrorOptions) {
    super("The store did not say whether it wrote; it is not known what was written.", options);
    this.name = "InDoubt";
  }
}

/** Whether it is the store that failed, and not what it was asked to write. */
export const isOfStore = (error: unknown): error is NotWritten | InDoubt =>
  error instanceof NotWritten || error instanceof InDoubt;

/** It did not get to the write in time. */
export class StoreBusy extends NotWritten {
  constructor(options?: ErrorOptions) {
    super("The store was busy for too long.", options);
    this.name = "StoreBusy";
  }
}

/** It turns everybody away, or this installation, until its operator has mended something. */
export class StoreRefuses extends NotWritten {
  constructor(options?: ErrorOptions) {
    super("The store does not let this installation in.", options);
    this.name = "StoreRefuses";
  }
}

/** Nobody will find what is written: its file is not where it was opened. Once it is back, all of it is there. */
export class StoreGone extends NotWritten {
  constructor(path: string) {
    super(
      `${path} was moved, removed or replaced under the server. Put the file back that was there; ` +
        "where it is gone, stop the server and restore a backup.",
    );
    this.name = "StoreGone";
  }
}

/** There is no room for anything new; what is running can still be settled. */
export class StoreFull extends NotWritten {
  constructor() {
    super("The store is full.");
    this.name = "StoreFull";
  }
}
