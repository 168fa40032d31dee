// Some models take nothing but text as the result of a tool: what else there is the user shows behind all results, and both
// places say so.

export const shownBelow = "What it shows follows in the next message of the user.";

export const shownFor = (callId: string): string => `From the result of ${callId}:`;
