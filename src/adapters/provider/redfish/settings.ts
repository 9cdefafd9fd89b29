import { z } from 'zod';
import * as leaf from '../../../settings/leaves.ts';
import type { Surroundings } from '../../../settings/secret.ts';
import type { Clock } from '../../clock/port.ts';
import { inventorySettings, NAME } from '../../driver-kit/inventory/inventory.ts';
import type { CallOptions } from '../port.ts';

/** A shorter secret could be guessed. */
export const SEED_KEY_LENGTH_MIN = 32;

export const METHODS = ['vmedia', 'uefihttp', 'pxe'] as const;
export type Method = (typeof METHODS)[number];

/** Some BMCs refuse URLs with these characters. */
const PLAIN = /^https?:\/\/[^\s?#@&]+$/;
const address = (meaning: string) =>
  leaf.text(meaning, { matches: PLAIN, type: 'an http or https URL without credentials, ? and &' });

/** Settings of installations. Only with this section does a rack have free machines. */
export const installSettings = (around: Surroundings) =>
  z
    .strictObject({
      method: leaf.choice(
        METHODS,
        'How a machine gets its installer: from a virtual CD, by UEFI HTTP boot, or from the network.',
      ),
      iso: address(
        'URL of the virtual CD for `vmedia`; `{token}` is the token of the installation.',
      ).optional(),
      bootUri: address(
        'URL for `uefihttp`, and for the iPXE script to chain to; `{token}` is the token.',
      ).optional(),
      seedListen: leaf.listen(
        'Address at which installers get their seed, on the provisioning network.',
      ),
      seedUrl: leaf.url('URL of the same for installers; absent: `seedListen` itself.').optional(),
      seedKey: leaf.secret(
        `Seals the seeds in the database; at least ${SEED_KEY_LENGTH_MIN} characters, the same for all daemons.`,
        around,
      ),
      window: leaf
        .duration('Time limit for an installation, from the power-on.', 1_000)
        .prefault('45m'),
      os: leaf.text('Name of the system to install, for the installer.').prefault('default'),
    })
    .superRefine(({ method, iso, bootUri, seedKey }, context) => {
      if (seedKey.read().length < SEED_KEY_LENGTH_MIN) {
        const message =
          `is shorter than ${SEED_KEY_LENGTH_MIN} characters and could be guessed; make one with ` +
          'openssl rand -base64 32';
        context.addIssue({ code: 'custom', path: ['seedKey'], message });
      }
      const lack = method === 'vmedia' && iso === undefined ? 'iso' : null;
      const other = method === 'uefihttp' && bootUri === undefined ? 'bootUri' : null;
      const missing = lack ?? other;
      if (missing === null) return;
      const message = `is missing; ${method} needs it`;
      context.addIssue({ code: 'custom', path: [missing], message });
    });
export type InstallSettings = z.output<ReturnType<typeof installSettings>>;

/** Time reserved for the answer: a tenth of the limit, at most two seconds. */
const REST_SHARE = 0.1;
const REST_MOST_MS = 2_000;

/** A wait for a turn extends the deadline of a call, and patience with it. */
export function startPatience(call: Pick<CallOptions, 'signal' | 'deadline'>, clock: Clock) {
  const over = new AbortController();
  const leftMs = () => call.deadline.getTime() - clock.now();
  const restMs = Math.min(REST_MOST_MS, leftMs() * REST_SHARE);
  let timer: unknown;
  wait();

  function wait(): void {
    const waitMs = leftMs() - restMs;
    if (waitMs > 0) timer = clock.setTimeout(wait, waitMs);
    else over.abort(new Error('the BMC takes longer than the call may'));
  }

  return {
    signal: AbortSignal.any([call.signal, over.signal]),
    /** Whether patience ended while the call continues. */
    isOver: (): boolean => over.signal.aborted,
    end: (): void => clock.clearTimeout(timer),
  };
}
/** Settings of a rack. There is no switch that disables certificate checks. */
export function settings(around: Surroundings) {
  const login = z.strictObject({
    username: leaf.text('User name for BMCs.'),
    password: leaf.secret('Password of that user.', around),
  });
  return z.strictObject({
    ...inventorySettings(around),
    credentials: z.record(NAME, login).prefault({}),
    auth: leaf
      .choice(
        ['auto', 'session', 'basic'],
        'How to log in at BMCs; auto is by session, and where there is none by Basic.',
      )
      .prefault('auto'),
    caFile: leaf
      .file('PEM certificates of authorities for BMCs; absent: the system’s.', around)
      .optional(),
    connectTimeout: leaf.duration('Time limit for a connection to a BMC.', 100).prefault('10s'),
    readTimeout: leaf.duration('Time limit for an answer of a BMC.', 100).prefault('60s'),
    bmcGap: leaf.duration('Minimum time between two requests to one BMC.').prefault('200ms'),
    bmcParallelism: leaf.count('Maximum BMCs with concurrent requests.', 1, 1_000).prefault(64),
    powerPoll: leaf
      .duration('Interval of reading each machine’s power state.', 1_000)
      .prefault('5m'),
    authPause: leaf.duration('Pause after a BMC has refused a login.', 1_000).prefault('10m'),
    ownerMark: leaf
      .choice(['none', 'assetTag'], 'Where machines are marked as ours, visible to other fleets.')
      .prefault('none'),
    allowFullPowerCycle: leaf
      .flag('Whether a reset may cut the power of a whole chassis slot, BMC included.')
      .prefault(false),
    bmcReset: leaf
      .flag('Whether a hanging BMC is reset for a recovery, at most once a day.')
      .prefault(false),
    install: installSettings(around).optional(),
  });
}
export type Settings = z.output<ReturnType<typeof settings>>;
