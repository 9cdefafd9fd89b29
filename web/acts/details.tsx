import { detailsOf, type Detail, type MachineVerb } from '../../src/domain/verbs.ts';
import { nowMs } from '../live/clock.ts';
import { texts } from '../texts.ts';

const HOUR_MS = 3_600_000;
const IMAGE = ['url', 'sha256', 'disk'] as const;

/** Values of the fields, by the name of the detail. */
export type DetailValues = Readonly<Record<string, string | boolean>>;

const textOf = (value: DetailValues[string] | undefined): string =>
  typeof value === 'string' ? value : '';

/** Rounded to a minute, so that the request does not change with every render. */
export function untilOf(hours: string): number | null {
  const wanted = Number(hours);
  if (hours.trim() === '' || !(wanted > 0)) return null;
  return Math.round((nowMs() + wanted * HOUR_MS) / 60_000) * 60_000;
}

const fieldsOf = (verb: MachineVerb) =>
  detailsOf(verb).filter(([, { page }]) => page !== undefined);

function valueOf(name: string, detail: Detail, wanted: DetailValues): unknown {
  switch (detail.kind) {
    case 'flag':
      return wanted[name] === true;
    case 'choice':
      return wanted[name] ?? preselected(detail.of);
    case 'start':
    case 'end':
      return untilOf(textOf(wanted[name]));
    case 'image': {
      const { url, sha256, disk } = wanted;
      return { url, sha256, rootDevice: { name: disk } };
    }
    default:
      return textOf(wanted[name]);
  }
}

/** The preselected kind. For holds, this is the most frequent kind. */
const preselected = (words: readonly string[]) =>
  words.includes('no-recover') ? 'no-recover' : words[0];

/** The verb and its details in the form of the API. */
export const wishOf = (verb: MachineVerb, wanted: DetailValues): { readonly verb: string } => ({
  verb,
  ...Object.fromEntries(
    fieldsOf(verb).map(([name, detail]) => [name, valueOf(name, detail, wanted)]),
  ),
});

export const isComplete = (verb: MachineVerb, wanted: DetailValues): boolean =>
  fieldsOf(verb)
    .flatMap(([name, { kind }]) => (kind === 'image' ? IMAGE : kind === 'text' ? [name] : []))
    .every((name) => textOf(wanted[name]).trim() !== '');

export interface DetailsProps {
  readonly verb: MachineVerb;
  readonly wanted: DetailValues;
  readonly change: (wanted: DetailValues) => void;
}

/** The fields of a verb. */
export const Details = ({ verb, ...props }: DetailsProps) =>
  fieldsOf(verb).map(([name, detail]) =>
    detail.kind === 'image' ? (
      IMAGE.map((part) => (
        <Field
          key={part}
          name={part}
          detail={{ ...TEXT, page: texts.acts.image[part] }}
          {...props}
        />
      ))
    ) : (
      <Field key={name} name={name} detail={detail} {...props} />
    ),
  );

const TEXT = { kind: 'text', max: 2_048 } as const;

interface FieldProps extends Omit<DetailsProps, 'verb'> {
  readonly name: string;
  readonly detail: Detail;
}

function Field({ name, detail, wanted, change }: FieldProps) {
  const set = (value: DetailValues[string]) => change({ ...wanted, [name]: value });
  if (detail.kind === 'flag') {
    return (
      <label className="check">
        <input
          type="checkbox"
          checked={wanted[name] === true}
          onChange={({ target }) => set(target.checked)}
        />
        {detail.page}
      </label>
    );
  }
  const typed = {
    value: textOf(wanted[name]),
    onChange: ({ target }: { readonly target: { readonly value: string } }) => set(target.value),
  };
  return (
    <label>
      {detail.page}
      {detail.kind === 'choice' ? (
        <select {...typed} value={textOf(wanted[name] ?? preselected(detail.of))}>
          {detail.of.map((word) => (
            <option key={word}>{word}</option>
          ))}
        </select>
      ) : detail.kind === 'start' || detail.kind === 'end' ? (
        <input type="number" min="0" step="any" {...typed} />
      ) : (
        <input className="mono" {...typed} />
      )}
    </label>
  );
}
