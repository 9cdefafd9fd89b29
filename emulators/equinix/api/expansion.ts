const REF = Symbol('reference');

/** A relation: shown as its href, or opened. */
interface Ref {
  readonly [REF]: true;
  readonly href: string;
  /** Open unless excluded. */
  readonly isInline: boolean;
  readonly open: () => Node;
}
/** A resource before expansion: fields, relations, lists of either. */
export type Node = Readonly<Record<string, unknown>>;

export const linkTo = (href: string, open: () => Node): Ref => ({
  ...{ [REF]: true as const, href, isInline: false, open },
});
export const inline = (href: string, open: () => Node): Ref => ({
  ...linkTo(href, open),
  isInline: true,
});

/** Dotted names, separated by commas. */
const namesIn = (text = ''): readonly string[] => text.split(',').map((name) => name.trim());

/**
 * The resource as sent: included relations are expanded, excluded relations shrink to their href,
 * and other excluded fields disappear. Undefined fields are left out; unknown names have no effect.
 */
export function expand(node: Node, query: ReadonlyMap<string, string>): Record<string, unknown> {
  const include = namesIn(query.get('include'));
  const exclude = new Set(namesIn(query.get('exclude')));

  function show(shown: Node, at: string): Record<string, unknown> {
    const out: Record<string, unknown> = {};
    for (const [field, value] of Object.entries(shown)) {
      const name = `${at}${field}`;
      if (value === undefined) continue;
      if (isRef(value)) out[field] = relation(value, name);
      else if (!exclude.has(name)) {
        out[field] = Array.isArray(value) ? value.map((one) => item(one, name)) : value;
      }
    }
    return out;
  }
  const item = (value: unknown, name: string) => (isRef(value) ? relation(value, name) : value);
  function relation({ href, isInline, open }: Ref, name: string): Record<string, unknown> {
    const isIncluded = include.some((one) => one === name || one.startsWith(`${name}.`));
    const isOpen = !exclude.has(name) && (isInline || isIncluded);
    return isOpen ? show(open(), `${name}.`) : { href };
  }
  return show(node, '');
}

const isRef = (value: unknown): value is Ref =>
  typeof value === 'object' && value !== null && REF in value;
