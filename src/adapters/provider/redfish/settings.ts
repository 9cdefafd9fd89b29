import { z } from 'zod';
import * as leaf from '../../../settings/leaves.ts';
import type { Secret, Surroundings } from '../../../settings/secret.ts';
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

const imageSettings = z.strictObject({
  url: leaf.text('http or https URL of the image of a whole disk.', {
    matches: /^https?:\/\/\S+$/,
    type: 'an http or https URL',
  }),
  sha256: leaf.text('SHA-256 of the unpacked image.', {
    matches: /^[0-9a-f]{64}$/,
    type: '64 hex digits',
  }),
  compression: leaf
    .choice(['none', 'gzip', 'xz', 'zstd'], 'How the image is compressed.')
    .prefault('none'),
});

const installerPath = (around: Surroundings) =>
  leaf.path(
    'Directory made by `shepherd redfish build-iso`; seeds serve it, and `iso`, `bootUri` are not needed.',
    around,
  );

const seedSettings = (around: Surroundings) => ({
  seedListen: leaf.listen(
    'Address at which installers get their seed, on the provisioning network.',
  ),
  seedKey: leaf.secret(
    `Seals the seeds in the database; at least ${SEED_KEY_LENGTH_MIN} characters, the same for all daemons.`,
    around,
  ),
  window: leaf
    .duration('Time limit for an installation, from the power-on.', 1_000)
    .prefault('45m'),
});

function refuseShortKey(
  { seedKey }: { readonly seedKey: Secret },
  context: { addIssue(issue: { code: 'custom'; path: string[]; message: string }): void },
): void {
  if (seedKey.read().length >= SEED_KEY_LENGTH_MIN) return;
  const message =
    `is shorter than ${SEED_KEY_LENGTH_MIN} characters and could be guessed; make one with ` +
    'openssl rand -base64 32';
  context.addIssue({ code: 'custom', path: ['seedKey'], message });
}

/** Settings of installations that a machine's own system starts. */
export const selfInstallSettings = (around: Surroundings) =>
  z
    .strictObject({
      installer: installerPath(around),
      image: imageSettings,
      ...seedSettings(around),
      seedUrl: leaf.url('URL of the same for installers.'),
    })
    .superRefine(refuseShortKey);
export type SelfInstallSettings = z.output<ReturnType<typeof selfInstallSettings>>;

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
      installer: installerPath(around).optional(),
      image: imageSettings.optional(),
      ...seedSettings(around),
      seedUrl: leaf.url('URL of the same for installers; absent: `seedListen` itself.').optional(),
      os: leaf.text('Name of the system to install, for the installer.').prefault('default'),
    })
    .superRefine((own, context) => {
      const { method, iso, bootUri, installer, image, seedUrl } = own;
      refuseShortKey(own, context);
      const complain = (key: string, message: string): void =>
        context.addIssue({ code: 'custom', path: [key], message });
      if (installer !== undefined) {
        if (image === undefined) complain('image', 'is missing; the installer writes it');
        if (seedUrl === undefined) complain('seedUrl', 'is missing; the installer is served there');
      } else if (method === 'vmedia' && iso === undefined) {
        complain('iso', 'is missing; vmedia needs it, or an installer');
      } else if (method === 'uefihttp' && bootUri === undefined) {
        complain('bootUri', 'is missing; uefihttp needs it, or an installer');
      }
    });
export type InstallSettings = z.output<ReturnType<typeof installSettings>>;

/** With our installer, the seed server has what machines boot. */
export function withInstaller(own: InstallSettings): InstallSettings {
  const { installer, method, seedUrl = '' } = own;
  if (installer === undefined) return own;
  const served = `${seedUrl.replace(/\/+$/, '')}/s/{token}/installer.iso`;
  if (method === 'vmedia') return { ...own, iso: own.iso ?? served };
  return method === 'uefihttp' ? { ...own, bootUri: own.bootUri ?? served } : own;
}

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
