import { HOLD_KINDS } from '../../src/domain/machine.ts';
import type { MachineVerb } from '../../src/domain/filing/verbs.ts';
import { nowMs } from '../live/clock.ts';
import { texts } from '../texts.ts';

const HOUR_MS = 3_600_000;

/** What a person chose beside the verb. */
export interface Wanted {
  readonly kind: (typeof HOLD_KINDS)[number];
  /** Hours; empty: until it is taken away. */
  readonly hours: string;
  readonly force: boolean;
  readonly forgetHostKey: boolean;
  readonly returnToPool: boolean;
  readonly url: string;
  readonly sha256: string;
  readonly disk: string;
}
export const START: Wanted = {
  ...{ kind: 'no-recover', hours: '', force: false, forgetHostKey: false, returnToPool: false },
  ...{ url: '', sha256: '', disk: '' },
};

/** Rounded to a minute, so that the same choice stays the same wish for a while. */
function untilOf(hours: string): number | null {
  const wanted = Number(hours);
  if (hours.trim() === '' || !(wanted > 0)) return null;
  return Math.round((nowMs() + wanted * HOUR_MS) / 60_000) * 60_000;
}

/** The wish, as the API takes it. */
export function wishOf(verb: MachineVerb, wanted: Wanted): { readonly verb: string } {
  const { kind, hours, force, forgetHostKey, returnToPool, url, sha256, disk } = wanted;
  switch (verb) {
    case 'hold':
      return { verb, ...{ kind, untilMs: untilOf(hours) } };
    case 'unhold':
      return { verb, ...{ kind } };
    case 'quarantine':
      return { verb, ...{ untilMs: untilOf(hours) } };
    case 'reboot':
      return { verb, ...{ force } };
    case 'release':
      return { verb, ...{ forgetHostKey } };
    case 'install':
      return { verb, ...{ image: { url, sha256, rootDevice: { name: disk } } } };
    case 'deprovision':
      return { verb, ...(returnToPool && { returnToPool }) };
    case 'restart-agent':
    case 'reinstall':
    case 'cancel-install':
    case 'withdraw':
    case 'clear-backoff':
      return { verb };
  }
}

export const isComplete = (verb: MachineVerb, { url, sha256, disk }: Wanted): boolean =>
  verb !== 'install' || [url, sha256, disk].every((text) => text.trim() !== '');

export interface DetailsProps {
  readonly verb: MachineVerb;
  readonly wanted: Wanted;
  readonly change: (wanted: Wanted) => void;
}

/** Yes or no, and the verb that has it. */
const ASKED_WITH = { force: 'reboot', forgetHostKey: 'release', returnToPool: 'deprovision' };

/** The fields that a verb has. */
export function Details({ verb, wanted, change }: DetailsProps) {
  const set = (part: Partial<Wanted>) => change({ ...wanted, ...part });
  return (
    <>
      {(verb === 'hold' || verb === 'unhold') && (
        <label>
          {texts.acts.kind}
          <select
            value={wanted.kind}
            onChange={({ target }) => set({ kind: target.value as Wanted['kind'] })}
          >
            {HOLD_KINDS.map((kind) => (
              <option key={kind}>{kind}</option>
            ))}
          </select>
        </label>
      )}
      {(verb === 'hold' || verb === 'quarantine') && (
        <label>
          {texts.acts.hours}
          <input
            type="number"
            min="0"
            step="any"
            value={wanted.hours}
            onChange={({ target }) => set({ hours: target.value })}
          />
        </label>
      )}
      {(['force', 'forgetHostKey', 'returnToPool'] as const).map(
        (name) =>
          verb === ASKED_WITH[name] && (
            <label key={name} className="check">
              <input
                type="checkbox"
                checked={wanted[name]}
                onChange={({ target }) => set({ [name]: target.checked })}
              />
              {texts.acts[name]}
            </label>
          ),
      )}
      {verb === 'install' &&
        (['url', 'sha256', 'disk'] as const).map((name) => (
          <label key={name}>
            {texts.acts.image[name]}
            <input
              className="mono"
              value={wanted[name]}
              onChange={({ target }) => set({ [name]: target.value })}
            />
          </label>
        ))}
    </>
  );
}
