/** The code of a failure of the system or of SQLite, such as EMFILE or SQLITE_BUSY; "" of any other. */
export const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";
