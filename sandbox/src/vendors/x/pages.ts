// The platform's three pages: who are you, may they, and what went wrong. No script, nothing loaded from elsewhere.

import { persons, type Person } from "./persons.ts";
import { scopeWords } from "./scopes.ts";

export const loginPage = ({ action }: { action: string }): string =>
  page(
    "Sign in",
    `<p>Choose who you are. There is no password.</p>
<form method="post" action="${escape(action)}">
<fieldset>
<legend>Demo persons</legend>
${persons.map(personButton).join("\n")}
</fieldset>
</form>`,
  );

interface Consent {
  readonly action: string;
  readonly clientName: string;
  readonly person: Person;
  readonly scopes: readonly string[];
  /** Where the app wants the person to be sent back to. */
  readonly returnHost: string;
  /** Starts over, to sign in as somebody else. */
  readonly switchUrl: string;
}

export const consentPage = ({ action, clientName, person, scopes, returnHost, switchUrl }: Consent): string =>
  page(
    `Allow ${clientName}?`,
    `<p><strong id="client">${escape(clientName)}</strong> asks for access to the account
<strong id="person">${escape(titleOf(person))}</strong>.
<a id="switch" href="${escape(switchUrl)}">Use another person</a></p>
<h2>It wants to</h2>
<ul id="scopes">
${scopes.map(scopeLine).join("\n")}
</ul>
<p class="quiet">Afterwards you are sent back to <span id="return">${escape(returnHost)}</span>.</p>
<form method="post" action="${escape(action)}" class="row">
<button id="allow" name="decision" value="allow" class="main">Allow</button>
<button id="deny" name="decision" value="deny">Deny</button>
</form>`,
  );

export const errorPage = (message: string): string =>
  page(
    "This did not work",
    `<p id="error" role="alert">${escape(message)}</p>
<p>Go back to where you came from and start again.</p>`,
  );

const titleOf = ({ name, username }: Person): string => `${name} (@${username})`;

const personButton = (person: Person): string =>
  `<button id="person-${person.username}" name="person" value="${person.username}">${escape(titleOf(person))}</button>`;

const scopeLine = (scope: string): string =>
  `<li>${escape(scopeWords[scope] ?? scope)} <code>${escape(scope)}</code></li>`;

const escape = (text: string): string => Bun.escapeHTML(text);

const page = (title: string, content: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)} · sandbox platform</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<header><p id="notice" role="note">Sandbox platform, nothing real: no account, no post and no follow exists outside this machine.</p></header>
<main>
<h1>${escape(title)}</h1>
${content}
</main>
</body>
</html>
`;

const style = `
:root { color-scheme: light dark; --ink: #14171f; --quiet: #566072; --paper: #f4f5f8; --card: #fff; --line: #c6ccd8;
  --main: #1d55c9; --on-main: #fff; --note: #fff3c9; --on-note: #4d3a00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ebf2; --quiet: #a3adbf; --paper: #10131a; --card: #191d27;
  --line: #3c4557; --main: #8ab2ff; --on-main: #0c1a38; --note: #3a3010; --on-note: #ffe9a6; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
#notice { margin: 0; padding: .6rem 1rem; background: var(--note); color: var(--on-note); text-align: center; }
main { max-width: 30rem; margin: 2rem auto; padding: 1.5rem; background: var(--card); border: 1px solid var(--line);
  border-radius: .75rem; overflow-wrap: anywhere; }
h1 { margin: 0 0 .75rem; font-size: 1.4rem; line-height: 1.25; }
h2 { margin: 1.25rem 0 .5rem; font-size: 1rem; }
ul { margin: 0; padding-left: 1.25rem; }
li { margin: .25rem 0; }
code, .quiet { color: var(--quiet); font-size: .875rem; }
a { color: var(--main); }
fieldset { margin: 0; padding: 0; border: 0; display: grid; gap: .5rem; }
legend { padding: 0; margin-bottom: .5rem; font-weight: 600; }
.row { display: flex; gap: .75rem; margin-top: 1.25rem; }
.row button { flex: 1; text-align: center; }
button { min-height: 2.75rem; padding: .5rem 1rem; border: 1px solid var(--line); border-radius: .5rem;
  background: transparent; color: inherit; font: inherit; text-align: left; cursor: pointer; }
button:hover { border-color: var(--main); }
button.main { background: var(--main); border-color: var(--main); color: var(--on-main); font-weight: 600; }
:focus-visible { outline: 3px solid var(--main); outline-offset: 2px; }
@media (max-width: 32rem) { main { margin: 0; border-width: 0 0 1px; border-radius: 0; padding: 1.25rem 1rem; } }
`;
