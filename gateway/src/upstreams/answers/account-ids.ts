/** OpenAI's organizations and projects, and Google's projects: by these their vendor knows the operator. */
const accountIds = /\b(?:(?:org|proj)[-_][a-z0-9]{16,}|projects\/\d{6,}|project_number:\d+)\b/gi;

/** What a vendor says of an error, without whose account it met. What stays can be read, and JSON stays JSON. */
export const withoutAccountIds = (text: string): string =>
  text.replace(accountIds, (id) => id.replace(/[a-z0-9]+$/i, "…"));
