/** Whether an answer of this type comes piece by piece. */
export const isEventStream = (contentType: string | undefined): boolean =>
  contentType?.startsWith("text/event-stream") === true;
