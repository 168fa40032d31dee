// A platform gives a token to renew with only to those who ask to act while the person is away. The gateway asks for that
// by itself, so that a link is needed once; a scope that the caller did not ask for is not told as theirs.

const offlineScope = "offline.access";

/** What the platform is asked for. */
export const withOffline = (scopes: readonly string[], isWanted: boolean): readonly string[] =>
  isWanted && !scopes.includes(offlineScope) ? [...scopes, offlineScope] : scopes;

/** What was granted, as the caller asked for it. */
export const withoutOffline = (granted: readonly string[], asked: readonly string[]): readonly string[] =>
  asked.includes(offlineScope) ? granted : granted.filter((scope) => scope !== offlineScope);
