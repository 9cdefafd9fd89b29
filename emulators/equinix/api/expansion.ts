const REF = Symbol('reference');

/** A relation: shown as its href, or opened. */
export interface Ref {
  readonly [REF]: true;
  readonly href: string;
  /** Open unless excluded. */
  readonly inline: boolean;
  readonly open: () => Node;
}
/** A resource before expansion: fields, relations, lists of either. */
export type Node = { readonly [field: string]: unknown };

export const linkTo = (href: string, open: () => Node): Ref => ({
  [REF]: true,
  href,
  inline: false,
  open,
});
export const inline = (href: string, open: () => Node): Ref => ({
  [REF]: true,
  href,
  inline: true,
  open,
});

/** Names of `include` or `exclude`, as a tree of their dotted parts. */
export interface Selection {
  readonly named: boolean;
  readonly inner: ReadonlyMap<string, Selection>;
}

/** Deeper parts are ignored, as are unknown names. */
const DEPTH = 3;
const NOTHING: Selection = { named: false, inner: new Map() };

/** Reads a comma-separated list of dotted names. */
export function parseSelection(text: string | undefined): Selection {
  type Growing = { named: boolean; inner: Map<string, Growing> };
  const root: Growing = { named: false, inner: new Map() };
  for (const name of (text ?? '').split(',').filter(Boolean)) {
    let at = root;
    for (const part of name.trim().split('.').slice(0, DEPTH)) {
      const next = at.inner.get(part) ?? { named: false, inner: new Map<string, Growing>() };
      at.inner.set(part, next);
      at = next;
    }
    at.named = true;
  }
  return root;
}

/**
 * The resource as it is sent: included relations open, excluded ones shrink to their href, other
 * excluded fields disappear. Undefined fields are left out.
 */
export function expand(
  node: Node,
  include: Selection,
  exclude: Selection,
): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(node)) {
    const wanted = include.inner.get(name);
    const unwanted = exclude.inner.get(name) ?? NOTHING;
    if (value === undefined) continue;
    if (isRef(value)) out[name] = expandRef(value, wanted, unwanted);
    else if (!unwanted.named) out[name] = expandList(value, wanted, unwanted);
  }
  return out;
}

function expandRef(ref: Ref, wanted: Selection | undefined, unwanted: Selection): unknown {
  const open = !unwanted.named && (ref.inline || wanted !== undefined);
  return open ? expand(ref.open(), wanted ?? NOTHING, unwanted) : { href: ref.href };
}

function expandList(value: unknown, wanted: Selection | undefined, unwanted: Selection): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((item) => (isRef(item) ? expandRef(item, wanted, unwanted) : item));
}

const isRef = (value: unknown): value is Ref =>
  typeof value === 'object' && value !== null && REF in value;

/** The same without null fields, at every depth. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) =>
      inner === null ? [] : [[name, withoutNulls(inner)]],
    ),
  );
}
