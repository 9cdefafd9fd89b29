/** Replaces a secret that was left out. */
export const REDACTED = '<redacted>';

/**
 * Names of secret fields, with words joined by `_`: parameters of a new cluster node, first-boot
 * scripts, and every field that is named like a secret.
 */
const SECRET =
  /^(node_parameters|cloud_init)$|(^|_)(ticket|password|passphrase|secret|token|credentials?|private)/;

export const isSecretName = (name: string): boolean => SECRET.test(name);

/** A copy of a message's fields without its secrets, and the paths of the secrets. */
export interface Redacted {
  readonly fields: Fields;
  /** For example `metropolis.node_parameters`. */
  readonly hidden: readonly string[];
}
export type Fields = Readonly<Record<string, unknown>>;

/** Removes secrets by their names at any depth; URLs lose their user and their query. */
export function redact(fields: Fields): Redacted {
  const hidden: string[] = [];
  const visit = (value: unknown, path: string): unknown => {
    if (Array.isArray(value)) return value.map((item, at) => visit(item, `${path}[${at}]`));
    if (!isFields(value)) return value;
    const kept = Object.entries(value).flatMap(([name, inner]): [string, unknown][] => {
      const at = path === '' ? name : `${path}.${name}`;
      if (isSecretName(name)) {
        hidden.push(at);
        return [];
      }
      const isUrl = /(^|_)url$/.test(name) && typeof inner === 'string';
      return [[name, isUrl ? bareUrl(inner) : visit(inner, at)]];
    });
    return Object.fromEntries(kept);
  };
  return { fields: visit(fields, '') as Fields, hidden };
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** A signature in the query or a password before the host would open the URL's target. */
function bareUrl(text: string): string {
  if (text === '') return text;
  const url = URL.parse(text);
  if (!url) return REDACTED;
  const bare = `${url.protocol}//${url.host}${url.pathname}`;
  const whole = url.username === '' && url.password === '' && url.search + url.hash === '';
  return whole ? text : `${bare}?${REDACTED}`;
}
