/** How the bodies of requests are written. */
export interface BodyEncoding {
  readonly contentType: string;
  write(body: unknown): string;
}

export const JSON_BODY: BodyEncoding = {
  contentType: 'application/json',
  write: (body) => JSON.stringify(body),
};

/** A field that has several values is sent several times. */
export type FormFields = Readonly<Record<string, FormValue | readonly FormValue[]>>;
export type FormValue = string | number | boolean;

/**
 * `application/x-www-form-urlencoded`; bodies are `FormFields`.
 * @param lists how a field with a list is named. `brackets`, as PHP reads it: one value as `key[]`,
 *   several as `key[0]`, `key[1]`. `repeated`: `key` each time. An empty list sends nothing.
 */
export const formBody = (lists: 'brackets' | 'repeated'): BodyEncoding => ({
  contentType: 'application/x-www-form-urlencoded',
  write(body) {
    const fields = Object.entries(body as FormFields).flatMap(([name, value]) =>
      typeof value === 'object' ? listFields(name, value, lists) : [pair(name, value)],
    );
    return new URLSearchParams(fields).toString();
  },
});

function listFields(
  name: string,
  values: readonly FormValue[],
  lists: 'brackets' | 'repeated',
): [string, string][] {
  const nameOf = (n: number) => {
    if (lists === 'repeated') return name;
    return values.length === 1 ? `${name}[]` : `${name}[${n}]`;
  };
  return values.map((value, n) => pair(nameOf(n), value));
}

const pair = (name: string, value: FormValue): [string, string] => [name, String(value)];
