import { dirname, resolve } from 'node:path';
import type { z } from 'zod';
import { alsoAt, describeFaults, faultsOf, placeholdersIn } from './config/faults.ts';
import type { Fault } from './config/faults.ts';
import { configSchema, DRIVER_TABLES } from './config/schema.ts';
import { ladderPolicy } from './config/ladder-schema.ts';
import { hostKeyPolicyOf } from './config/provider-schema.ts';
import type { BalancerSettings } from './config/sections.ts';
import type { ProviderSettings } from './config/provider-schema.ts';
import type { Surroundings } from './settings/secret.ts';
import { noSource, readSource, readYaml, withFlags } from './config/source.ts';
import type { Flags, SourceText } from './config/source.ts';
import { UsageError } from './domain/errors.ts';
import type { HostKeyPolicy, LossPolicy } from './domain/policy.ts';
import { DEFAULT_LOSS } from './domain/policy.ts';
import type { Target } from './domain/provisioning/replacement.ts';
import type { LadderPolicy } from './domain/recovery/ladder.ts';
import type { Retirement } from './domain/recovery/retirement.ts';

export { formatDuration, parseDuration } from './settings/duration.ts';
export type { Milliseconds } from './settings/duration.ts';
export type { ListenAddress } from './settings/leaves.ts';
export type { Secret } from './settings/secret.ts';
export type { Flags } from './config/source.ts';
export { configSchema };
export { ownBalancerSettingsOf } from './config/sections.ts';
export { windowsOf } from './config/windows-schema.ts';
export { acceptancePolicies } from './config/repair-schema.ts';
export { poolsOf } from './config/pool-schema.ts';
export { hostKeyPolicyOf, ownSettingsOf } from './config/provider-schema.ts';

type DeepReadonly<T> = unknown extends T
  ? T
  : T extends (...args: never[]) => unknown
    ? T
    : { readonly [Key in keyof T]: DeepReadonly<T[Key]> };

/**
 * The whole configuration: checked, defaults filled in, references looked up, frozen to the bottom.
 * Durations are milliseconds under the name they have in the file; paths are absolute.
 */
export type Config = DeepReadonly<z.output<ReturnType<typeof configSchema>>>;
/** What may be written; what `parseConfig` expects of a plain object. */
export type ConfigInput = z.input<ReturnType<typeof configSchema>>;
/** One configured provider; the keys of its driver are the driver's to read. */
export type ProviderConfig = DeepReadonly<ProviderSettings>;
/** One configured balancer; all its keys but `driver` are the driver's to read. */
export type BalancerConfig = DeepReadonly<BalancerSettings>;

/** Where `loadConfig` finds its text, and what it may refer to. */
export interface ConfigSource {
  /** YAML file; relative paths in it start at its directory. */
  readonly file?: string;
  /** YAML text, instead of a file; relative paths start at the working directory. */
  readonly text?: string;
  readonly env: Surroundings['env'];
  /** Dotted path to value, such as `{ 'log.level': 'debug' }`. */
  readonly flags?: Flags;
}

/**
 * Reads the configuration of a daemon.
 * @throws {UsageError} listing every mistake at once, one line each: path, what, what to do.
 */
export function loadConfig({ file, text, env, flags = {} }: ConfigSource): Config {
  const name = file ?? 'the configuration';
  const { value, source } = readYaml(text ?? readConfigFile(file), name);
  const baseDirectory = file === undefined ? process.cwd() : dirname(resolve(file));
  return check(withFlags(value, flags), { env, baseDirectory, checkFiles: true }, source);
}

/**
 * Checks a plain object as if it had been written as YAML, except that files it names need not be
 * there yet. Secrets are references here too: put their values into `env`.
 * @param drivers by the name in `driver:`; those of the program where a table is absent.
 * @throws {UsageError} as `loadConfig`.
 */
export function parseConfig(
  input: unknown,
  around: Partial<Surroundings> = {},
  drivers: Partial<typeof DRIVER_TABLES> = {},
): Config {
  const surroundings = { env: {}, baseDirectory: process.cwd(), checkFiles: false, ...around };
  return check(input, surroundings, noSource, { ...DRIVER_TABLES, ...drivers });
}

/** When a machine counts as lost; `handOutMs` is not configurable. */
export const lossPolicyOf = ({ agent, mirror }: Pick<Config, 'agent' | 'mirror'>): LossPolicy => ({
  firstHeartbeatMs: agent.firstHeartbeatDeadline,
  heartbeatMs: agent.heartbeatDeadline,
  handOutMs: DEFAULT_LOSS.handOutMs,
  periodMs: agent.heartbeatPeriod,
  needsHumanAfterMs: agent.needsHumanAfter,
  readGapMs: mirror.scanInterval,
});

/** Most machines of a provider; 0 is no limit. */
export const machinesMaxOf = ({ providers, provisioner }: Config, provider: string): number =>
  providers[provider]?.maxMachines ?? provisioner.maxMachines;

/** Machines of a provider to keep in service; undefined: as many as there are slots. */
export const targetOf = (
  { providers, replacement }: Pick<Config, 'providers' | 'replacement'>,
  provider: string,
): Target | undefined => {
  const machines = providers[provider]?.target;
  return machines === undefined ? machines : { machines, replacementsMax: replacement.maxPerDay };
};

/** How the machines of a provider are recovered; one that is not configured has the common ladder. */
export const ladderOf = ({ providers, recoverer }: Config, provider: string): LadderPolicy =>
  ladderPolicy(recoverer, providers[provider]);

/** What becomes of a provider's machines that do not come back. */
export const retirementOf = (
  { providers, recoverer }: Pick<Config, 'providers' | 'recoverer'>,
  provider: string,
): Retirement => {
  const { retire, retired } = providers[provider] ?? {};
  return { when: retire ?? recoverer.retire, then: retired === 'give-back' ? 'giveBack' : 'keep' };
};

/** What counts where nothing proves the host key of one of the provider's machines. */
export const policyOf = ({ providers, ssh }: Config, provider: string): HostKeyPolicy => {
  const settings = providers[provider];
  return (settings && hostKeyPolicyOf(settings)) ?? ssh.hostKeyPolicy;
};

/** Recovery erases the disks of the provider's machines when nothing else brings them back. */
export const mayEraseDisks = (
  config: Config,
  { name, capabilities }: { name: string; capabilities: { readonly reinstall: boolean } },
): boolean => capabilities.reinstall && ladderOf(config, name).reinstalling.attempts > 0;

/**
 * Mistakes that stand in no configuration by itself, told as those that do.
 * @param file of the configuration.
 */
export const tellFaults = (file: string, faults: readonly Fault[]): string =>
  describeFaults(faults, readYaml(readConfigFile(file), file).source);

function check(
  value: unknown,
  around: Surroundings,
  source: SourceText,
  drivers = DRIVER_TABLES,
): Config {
  const schema = configSchema(around, drivers);
  const result = schema.safeParse(value);
  const wrong = result.success ? [] : faultsOf(result.error, schema, value);
  const faults = alsoAt(wrong, placeholdersIn(value));
  if (!result.success || faults.length > 0) throw new UsageError(describeFaults(faults, source));
  return freeze(result.data);
}

function readConfigFile(file: string | undefined): string {
  if (file === undefined) throw new UsageError('no configuration given; name one with --config');
  return readSource(file);
}

function freeze<T>(value: T): DeepReadonly<T> {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(freeze);
  return Object.freeze(value) as DeepReadonly<T>;
}
