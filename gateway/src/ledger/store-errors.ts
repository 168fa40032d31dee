/** The store did not get to the write in time; nothing was written, and trying again may work. */
export class StoreBusy extends Error {
  constructor() {
    super("The store was busy for too long.");
    this.name = "StoreBusy";
  }
}

/** There is no room for new calls; what is running can still be settled. */
export class StoreFull extends Error {
  constructor() {
    super("The store has no room left.");
    this.name = "StoreFull";
  }
}
