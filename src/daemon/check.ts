import { readFileSync, statSync } from 'node:fs';
import { complaintsAboutTls } from '../adapters/agents/tls-check.ts';
import { complaintAboutDataDirectory } from '../adapters/bmdb/embedded/data-directory.ts';
import { BALANCER_DRIVERS } from '../adapters/balancer/drivers.ts';
import type { BalancerDriver } from '../adapters/balancer/port.ts';
import type { Clock, Random } from '../adapters/clock/port.ts';
import { silentLog } from '../adapters/log/port.ts';
import { silentMetrics } from '../adapters/metrics/port.ts';
import { createMemoryRecords } from '../adapters/driver-kit/memory-shell.ts';
import { DRIVERS } from '../adapters/provider/drivers.ts';
import { complaintsAboutKeys } from '../adapters/ssh/key-ring.ts';
import { publicBlob } from '../adapters/ssh/key-file.ts';
import { ownBalancerSettingsOf, ownSettingsOf, policyOf, type Config } from '../config.ts';
import { explain, FleetError } from '../domain/errors.ts';
import { providerName } from '../domain/ids.ts';
import {
  complaintAboutKeepingIn,
  complaintAboutPrivacy,
  complaintAboutStrangers,
} from '../settings/file-checks.ts';
import { openBalancer } from './balancers.ts';
import { openProvider } from './providers.ts';
import { hostOf } from './real-ports.ts';
import { sshKeyFiles } from './ssh-keys.ts';

/** A problem with files or other objects that a valid configuration names. */
export interface Finding {
  /** Such as `['agentServer', 'keyPath']`. */
  readonly path: readonly string[];
  /** The problem, and what to do. */
  readonly message: string;
  /** The setting may be intended: a daemon starts nevertheless. */
  readonly isWarning?: boolean;
}

interface CheckMeans {
  readonly clock: Clock;
  readonly random: Random;
  readonly version: string;
  /** Default: the program's own. */
  readonly balancerDrivers?: ReadonlyMap<string, BalancerDriver>;
}

/**
 * All problems that would prevent a daemon's start or the agents' reports, as far as files show.
 * Changes nothing, and makes no connection.
 */
export async function checkAround(config: Config, means: CheckMeans): Promise<readonly Finding[]> {
  const checks = [
    checkDatabase(config),
    ...Object.keys(config.providers).map((name) => checkProvider(config, name, means)),
    ...Object.keys(config.balancers).map((name) => checkBalancer(config, name, means)),
    checkPrograms(config),
    checkSshKeys(config),
    checkAgentServer(config, means),
  ];
  return (await Promise.all(checks)).flat();
}

async function checkDatabase({ database }: Config): Promise<Finding[]> {
  const { dataDir } = database.embedded ?? {};
  const complaint = dataDir === undefined ? null : complaintAboutDataDirectory(dataDir);
  const path = ['database', 'embedded', 'dataDir'];
  return complaint === null ? [] : [{ path, message: `cannot be used: ${complaint}` }];
}

async function checkProvider(config: Config, name: string, means: CheckMeans): Promise<Finding[]> {
  const settings = config.providers[name]!;
  const path = ['providers', name];
  const own = ownSettingsOf(settings);
  const { driver } = settings;
  const around = { hostKeyPolicy: policyOf(config, name) };
  const complaints = (await DRIVERS.get(driver)?.check?.(own, around)) ?? [];
  const findings = complaints.map(({ key, ...rest }) => ({ path: [...path, key], ...rest }));
  const refusal = await refusalOf(() => {
    const { provider } = openProvider(providerName(name), settings, {
      ...means,
      log: silentLog,
      metrics: silentMetrics,
      records: createMemoryRecords(means.random),
      drivers: DRIVERS,
      publicKey: SOME_KEY,
    });
    return provider.stop();
  });
  return refusal === null ? findings : [...findings, { path, message: refusal }];
}

async function checkBalancer(config: Config, name: string, means: CheckMeans): Promise<Finding[]> {
  const settings = config.balancers[name]!;
  const path = ['balancers', name];
  const drivers = means.balancerDrivers ?? BALANCER_DRIVERS;
  const own = ownBalancerSettingsOf(settings);
  const complaints = (await drivers.get(settings.driver)?.check?.(own)) ?? [];
  const around = { ...means, log: silentLog, metrics: silentMetrics, drivers };
  const refusal = await refusalOf(() => openBalancer(name, settings, around).close());
  return [
    ...complaints.map(({ key, ...rest }) => ({ path: [...path, key], ...rest })),
    ...(refusal === null ? [] : [{ path, message: refusal }]),
  ];
}

/** Our own key may not exist yet. */
const SOME_KEY = `ssh-ed25519 ${publicBlob(Buffer.alloc(32)).toString('base64')} check`;

async function refusalOf(open: () => unknown): Promise<string | null> {
  try {
    await open();
    return null;
  } catch (error) {
    if (error instanceof FleetError) return `is refused: ${explain(error)}`;
    throw error;
  }
}

/** ELF's `e_machine` by processor name. */
const ELF_MACHINES: Readonly<Record<string, number>> = { x64: 62, arm64: 183 };

/** The configuration check already made sure that they are readable. */
async function checkPrograms({ agent }: Config): Promise<Finding[]> {
  return Object.entries(agent.executables ?? {}).flatMap(([processor, file]) => {
    const head = file === undefined ? Buffer.alloc(0) : readFileSync(file).subarray(0, 20);
    if (!head.toString('latin1').startsWith('\x7fELF')) return [];
    const machine = head.readUInt16LE(18);
    if (machine === ELF_MACHINES[processor]) return [];
    const message = `is ${file}, which was built for another processor (ELF machine ${machine}); give one for ${processor}`;
    return [{ path: ['agent', 'executables', processor], message }];
  });
}

async function checkSshKeys({ ssh }: Config): Promise<Finding[]> {
  const complaints = await complaintsAboutKeys(sshKeyFiles(ssh));
  return complaints.map(({ path, complaint }) => ({
    path:
      path === ssh.keyPath
        ? ['ssh', 'keyPath']
        : ['ssh', 'previousKeyPaths', String(ssh.previousKeyPaths.indexOf(path))],
    message: `cannot be used: ${complaint}`,
  }));
}

const KEY = ['agentServer', 'keyPath'];
const CERTIFICATE = ['agentServer', 'certificatePath'];
const AUTHORITY = ['agent', 'endpointCaCertificatePath'];

async function checkAgentServer(config: Config, { clock }: CheckMeans): Promise<Finding[]> {
  const { agent, agentServer } = config;
  const { keyPath, certificatePath, devCertificates, listen } = agentServer;
  const { endpointCaCertificatePath: authorityPath } = agent;
  if (devCertificates) return checkDevCertificates(devCertificates.dir, authorityPath);
  const told = agent.endpoint === undefined ? ['agentServer', 'listen'] : ['agent', 'endpoint'];
  const paths = { key: KEY, certificate: CERTIFICATE, host: told, authority: AUTHORITY };
  const privacy = checkPrivacy(keyPath!);
  const key = textOf(keyPath!);
  const certificate = textOf(certificatePath!);
  const authority = authorityPath === undefined ? null : textOf(authorityPath);
  const complaints = await complaintsAboutTls({
    key,
    certificate,
    authority,
    nowMs: clock.now(),
    host: agent.endpoint === undefined ? listen.host : hostOf(agent.endpoint),
  });
  return [...privacy, ...complaints.map(({ about, ...rest }) => ({ path: paths[about], ...rest }))];
}

const textOf = (path: string): string => readFileSync(path, 'utf8');

/** A separate group of key readers is common; other access rights are mistakes. */
function checkPrivacy(path: string): Finding[] {
  const found = statSync(path);
  const complaint = complaintAboutPrivacy(path, found, 0o027);
  if (complaint !== null) return [{ path: KEY, message: `is ${path}, which ${complaint}` }];
  if ((found.mode & 0o040) === 0) return [];
  const message = `is ${path}, which its group (gid ${found.gid}) may read; run chmod 600 ${path}, unless that is intended`;
  return [{ path: KEY, message, isWarning: true }];
}

function checkDevCertificates(dir: string, authority: string | undefined): Finding[] {
  const complaint = complaintAboutKeepingIn(dir) ?? complaintAboutStrangers(dir);
  const path = ['agentServer', 'devCertificates', 'dir'];
  return [
    ...(complaint === null ? [] : [{ path, message: `cannot be used: ${complaint}` }]),
    ...(authority === undefined ? [] : [{ path: AUTHORITY, message: UNUSED, isWarning: true }]),
  ];
}
const UNUSED = 'is not used: with agentServer.devCertificates, agents get the authority from there';
