import { html } from "../pages/html.ts";
import type { SmallPage } from "../pages/small-page.ts";

interface SignIn {
  readonly csrf: string;
  /** What the sign-in is for, in a sentence. */
  readonly purpose: string;
  readonly problem?: string | undefined;
}

/** Asks for a key of the account. What was typed is never shown again, not even after a mistake. */
export const signInPage = ({ csrf, purpose, problem }: SignIn): SmallPage => ({
  title: "Sign in",
  body: html`<p>${purpose}</p>
    ${problem === undefined ? undefined : html`<p class="warning" role="alert" id="problem">${problem}</p>`}
    <form method="post" autocomplete="off">
      <input type="hidden" name="csrf" value="${csrf}" />
      <label for="key">API key of your account</label>
      <input
        type="password"
        id="key"
        name="key"
        required
        autofocus
        autocomplete="off"
        spellcheck="false"
        maxlength="200"
        aria-describedby="key-hint${problem === undefined ? "" : " problem"}"
        ${problem === undefined ? undefined : html`aria-invalid="true"`}
      />
      <p class="hint" id="key-hint">
        It begins with tgk_, and whoever runs this gateway issues it. It is used to recognise your account and
        is not passed on.
      </p>
      <div class="buttons"><button class="main" name="action" value="sign_in">Sign in</button></div>
    </form>`,
});
