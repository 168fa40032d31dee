/** What was rejected and heard by nobody, from now until `stop`, which answers with it. */
export function collectUnhandled(): { readonly stop: () => readonly unknown[] } {
  const reasons: unknown[] = [];
  const note = (reason: unknown): void => void reasons.push(reason);
  process.on("unhandledRejection", note);
  return {
    stop: () => {
      process.off("unhandledRejection", note);
      return reasons;
    },
  };
}
