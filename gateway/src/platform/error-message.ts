/** What is said of anything that was thrown. Nobody promises that it is an Error. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
