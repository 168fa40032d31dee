import { html } from "../../pages/html.ts";
import type { Material, Page } from "./page.ts";

export const notFoundPage = ({ link }: Material): Page => ({
  path: undefined,
  title: "There is no such page",
  description: "There is no such page here.",
  markdown: "",
  main: html`<div class="page">
    <h1>There is no such page</h1>
    <p class="lead">The address may have changed, or have a typing error in it.</p>
    <ul class="doors">
      <li><a href="${link("/")}">Home</a></li>
      <li><a href="${link("/quickstart")}">Quick start</a></li>
      <li><a href="${link("/prices")}">Prices</a></li>
      <li><a href="${link("/docs")}">API reference</a></li>
    </ul>
  </div>`,
});
