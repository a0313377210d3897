/** Style sheets of parts that are loaded late: adopted by the document, which the dashboard's policy allows. */

const adopted = new Set<string>();

/** Adds a style sheet once. */
export function adoptStyle(text: string): void {
  if (adopted.has(text)) return;
  adopted.add(text);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}
