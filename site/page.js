// Adds a button to copy each piece of code. Without it, or where a browser has no clipboard, nothing is missing.

if (navigator.clipboard) {
  for (const figure of document.querySelectorAll("figure.code")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy: ${figure.querySelector("figcaption").textContent}`);
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(figure.querySelector("code").textContent);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 2_000);
    });
    figure.append(button);
  }
}
