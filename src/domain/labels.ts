/**
 * Labels that operators give a physical machine, as one text sorted by key: `env=prod,rack=b4`.
 * They have the limits of Kubernetes labels, and are lower case.
 */

const PART_MAX = 63;
const PART = /^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/;
/** Most labels of one machine. */
export const LABELS_MAX = 32;

/** Why a text is neither a key nor `key=value`; null: it is valid. */
export function labelFault(text: string): string | null {
  const parts = text.split('=');
  if (parts.length <= 2 && parts.every((part) => part.length <= PART_MAX && PART.test(part))) {
    return null;
  }
  return (
    `"${text}" is no label: a key and a value have 1 to ${PART_MAX} small letters, digits, dots, ` +
    'dashes and underscores each, and begin and end with a letter or digit'
  );
}

/** Changes of labels: new values by key; null removes the label. */
export type LabelChange = Readonly<Record<string, string | null>>;

/**
 * Reads comma-separated changes: `rack=b4` sets a label, `rack-` removes it.
 * @returns on failure, a text with the reason.
 */
export function readLabelChange(texts: string): LabelChange | string {
  const change: Record<string, string | null> = {};
  for (const text of texts.split(',').map((each) => each.trim())) {
    const isRemoval = !text.includes('=');
    const label = isRemoval ? text.slice(0, -1) : text;
    const fault = isRemoval && !text.endsWith('-') ? 'a value or a final "-" is missing' : null;
    const why = fault === null ? labelFault(label) : `"${text}" is no change of a label: ${fault}`;
    if (why !== null) return why;
    const [key, value = null] = label.split('=');
    if (Object.hasOwn(change, key!)) return `label ${key} is named twice`;
    change[key!] = value;
  }
  return change;
}

/** The labels of a machine, by key. */
export const labelsOf = (text: string | null): ReadonlyMap<string, string> =>
  new Map(
    (text ?? '').split(',').flatMap((label): [string, string][] => {
      const [key, value] = label.split('=');
      return value === undefined ? [] : [[key!, value]];
    }),
  );

/** The labels after a change; null: none. */
export function changedLabels(text: string | null, change: LabelChange): string | null {
  const labels = new Map(labelsOf(text));
  for (const [key, value] of Object.entries(change)) {
    if (value === null) labels.delete(key);
    else labels.set(key, value);
  }
  const sorted = [...labels].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([key, value]) => `${key}=${value}`).join(',') || null;
}

/** Whether the machine has this label, or any label with this key. */
export function hasLabel(text: string | null, wanted: string): boolean {
  const [key, value] = wanted.split('=');
  const found = labelsOf(text).get(key!);
  return found !== undefined && (value === undefined || found === value);
}
