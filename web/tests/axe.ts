import axe from 'axe-core';

/** Return what a screen reader's user would stumble over, a line each; colours need a browser. */
export async function violations(element: Element): Promise<string[]> {
  const found = await axe.run(element, { rules: { 'color-contrast': { enabled: false } } });
  return found.violations.flatMap((violation) =>
    violation.nodes.map((node) => `${violation.id}: ${node.html}`),
  );
}
