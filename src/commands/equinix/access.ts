import { silentLog } from '../../adapters/log/port.ts';
import { baseUrlFault } from '../../adapters/http/base-url.ts';
import { createEquinixClient } from '../../adapters/provider/equinix/client/client.ts';
import { createDeviceView } from '../../adapters/provider/equinix/device-view.ts';
import {
  EQUINIX_DEFAULTS,
  type EquinixConfig,
  type EquinixSettings,
} from '../../adapters/provider/equinix/settings.ts';
import { loadConfig } from '../../config.ts';
import { UsageError } from '../../domain/errors.ts';
import { isUuid } from '../../domain/ids.ts';
import { createSecret, type Secret } from '../../settings/secret.ts';
import type { Operator } from './operator.ts';
import { createWatch, type Watch } from './patience.ts';

/** Where the API is, who asks, and whose devices are meant. */
export interface AccessFlags {
  /** A daemon's configuration: everything else is then taken from its provider. */
  readonly config?: string | undefined;
  /** Which one, if it configures several. */
  readonly provider?: string | undefined;
  readonly tokenFile?: string | undefined;
  readonly username?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly allowInsecureHttp: boolean;
  /** Least time between two calls, milliseconds. */
  readonly apiRate?: number | undefined;
  /** Only devices whose hostname starts so. */
  readonly prefix?: string | undefined;
  /** Our own instance set. */
  readonly owner?: string | undefined;
  readonly allOwners: boolean;
}

/** What a command acts through. */
export interface Access {
  readonly config: EquinixConfig;
  readonly client: ReturnType<typeof createEquinixClient>;
  readonly view: ReturnType<typeof createDeviceView>;
  /** Null: whatever the name. */
  readonly prefix: string | null;
  /** Null: not known. */
  readonly owner: string | null;
  readonly allOwners: boolean;
  readonly watch: Watch;
}

const USERNAME = 'EQUINIX_USERNAME';
const TOKEN = '${EQUINIX_TOKEN}';

/**
 * Opens the API for the devices of one project. Makes no call yet.
 * @throws {UsageError} who asks, or where, is not said.
 */
export function openAccess(flags: AccessFlags, projectId: string, operator: Operator): Access {
  requireUuid('project', projectId);
  const configured = flags.config === undefined ? null : providerOf(flags, flags.config, operator);
  const token = tokenOf(flags, configured, operator);
  const username = flags.username ?? configured?.username ?? operator.env[USERNAME] ?? '';
  if (username === '') throw new UsageError(`give --username, or set ${USERNAME}`);
  const baseUrl = flags.baseUrl ?? configured?.baseUrl ?? EQUINIX_DEFAULTS.baseUrl;
  const allowInsecureHttp = flags.allowInsecureHttp || configured?.allowInsecureHttp === true;
  const fault = baseUrlFault(baseUrl, allowInsecureHttp);
  if (fault) throw new UsageError(`${baseUrl} ${fault}`);
  const prefix = flags.prefix ?? configured?.devicePrefix ?? null;
  const owner = flags.owner ?? configured?.instanceSetId ?? null;
  const { allOwners } = flags;
  const config: EquinixConfig = {
    ...EQUINIX_DEFAULTS,
    name: flags.provider ?? 'equinix',
    projectId,
    baseUrl,
    allowInsecureHttp,
    username,
    token: () => token.read(),
    devicePrefix: (allOwners ? null : prefix) ?? '',
    instanceSetId: owner ?? '',
    sshKeyLabel: '',
    publicKeyLine: '',
    parallelism: configured?.parallelism ?? EQUINIX_DEFAULTS.parallelism,
    apiRateMs: flags.apiRate ?? configured?.apiRate ?? EQUINIX_DEFAULTS.apiRateMs,
  };
  const { clock, random, network } = operator;
  const watch = createWatch(baseUrl);
  const client = createEquinixClient(config, {
    clock,
    random,
    network,
    log: silentLog,
    metrics: watch.metrics,
    userAgent: 'shepherd-operator',
  });
  const view = createDeviceView(config, { client, log: silentLog });
  return { config, client, view, prefix, owner, allOwners, watch };
}

/** @throws {UsageError} */
export function requireUuid(what: string, id: string): void {
  if (!isUuid(id))
    throw new UsageError(`"${id}" is no id of a ${what}; give a UUID, in lower case`);
}

type Configured = EquinixSettings & { readonly instanceSetId: string };

function providerOf({ provider }: AccessFlags, file: string, { env }: Operator): Configured {
  const { providers } = loadConfig({ file, env });
  const ours = Object.entries(providers).filter(([, { driver }]) => driver === 'equinix');
  const named = ours.filter(([name]) => provider === undefined || name === provider);
  if (named.length === 1) return named[0]![1] as unknown as Configured;
  const names = ours.map(([name]) => name).join(', ') || 'none';
  throw new UsageError(`name one of the providers of ${file} with --provider: ${names}`);
}

function tokenOf(
  { tokenFile, baseUrl }: AccessFlags,
  configured: Configured | null,
  { env }: Operator,
): Secret {
  if (tokenFile === undefined && configured) {
    // It was written down for that place; elsewhere it would only be given away.
    if (baseUrl !== undefined && baseUrl !== configured.baseUrl) {
      throw new UsageError('with another --base-url than the configured one, give --token-file');
    }
    return configured.token;
  }
  const around = { env, baseDirectory: process.cwd(), checkFiles: true };
  try {
    return createSecret(tokenFile === undefined ? TOKEN : `file:${tokenFile}`, around);
  } catch (cause) {
    const problem = 'there is no API key; give --config or --token-file, or set EQUINIX_TOKEN';
    throw new UsageError(problem, { cause });
  }
}
