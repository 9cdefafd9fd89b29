import type { Answer, Call, Core } from '../core.ts';
import type { Life } from '../life/life.ts';
import { SITES } from '../state/catalogue.ts';
import { newId } from '../state/ids.ts';
import {
  addToStock,
  type Billing,
  isThere,
  type Project,
  type Server,
  type World,
} from '../state/world.ts';
import { invalid, type Problem, refusalBy } from './api-error.ts';
import {
  type Attributes,
  attributesOf,
  hostnameProblems,
  refuseFor,
  type Rule,
  textIn,
} from './input.ts';
import { document, shortServerView } from './views.ts';

const RAID: Rule = { type: 'text', oneOf: ['raid-0', 'raid-1'], nullable: true };

const RULES: Readonly<Record<string, Rule>> = {
  project: { type: 'text', required: true },
  plan: { type: 'text', required: true },
  site: { type: 'text', required: true },
  operating_system: { type: 'text', required: true },
  hostname: { type: 'text', required: true },
  ssh_keys: { type: 'texts', nullable: true },
  user_data: { type: 'text', nullable: true },
  raid: RAID,
  billing: { type: 'text', oneOf: ['hourly', 'monthly', 'yearly'], nullable: true },
};

/** Of a create as of a reinstall. */
export const DEPLOY_RULES: Readonly<Record<string, Rule>> = {
  operating_system: { type: 'text' },
  hostname: { type: 'text' },
  ssh_keys: { type: 'texts' },
  user_data: { type: 'text' },
  raid: RAID,
};

export async function createServer(core: Core, life: Life, call: Call): Promise<Answer> {
  const { world, knobs } = core;
  const { attributes, problems } = attributesOf(call, 'servers', RULES);
  const project = projectOf(world, call, textIn(attributes, 'project'));
  const hostname = textIn(attributes, 'hostname');
  const missing = [
    ...missingPlace(core, attributes),
    ...(project || textIn(attributes, 'project') === undefined ? [] : [missingThing('project')]),
    ...missingInstallation(core, attributes, project?.id),
  ];
  refuseFor(
    [
      ...problems,
      ...hostnameProblems(hostname),
      ...featureProblems(core, attributes),
      ...billingProblems(project, textIn(attributes, 'billing')),
    ],
    missing,
    knobs.unknownReference,
  );
  if (call.strike('stranger')) addStranger(core, { like: attributes });
  refuseDuplicate(core, project!.id, hostname!);
  if (call.strike('quota') || isFull(core, call)) throw refusalBy(knobs.quotaText);
  const plan = textIn(attributes, 'plan')!;
  const site = textIn(attributes, 'site')!;
  const left = call.strike('stockOut') ? 0 : (world.stock.get(plan)?.get(site) ?? 0);
  if (left < 1) throw refusalBy(knobs.stockText);
  const usual: Billing = project!.provisioningType === 'reserved' ? 'yearly' : 'hourly';
  const server = addServer(core, {
    ...{ projectId: project!.id, plan, site, hostname: hostname! },
    billing: (textIn(attributes, 'billing') as Billing | undefined) ?? usual,
    operatingSystem: textIn(attributes, 'operating_system')!,
    raid: textIn(attributes, 'raid') ?? null,
    userData: textIn(attributes, 'user_data') ?? null,
    sshKeys: (attributes['ssh_keys'] as readonly string[] | undefined) ?? [],
  });
  await life.create(server);
  return { status: 201, body: document(shortServerView(core, server)) };
}

export const projectOf = (
  world: World,
  { team }: Call,
  wanted: string | undefined,
): Project | undefined =>
  world.projects.find(
    ({ id, name, teamId }) => teamId === team.id && (id === wanted || name === wanted),
  );

const missingThing = (attribute: string): Problem => invalid(attribute, 'could not be found');

function missingPlace({ world }: Core, attributes: Attributes): Problem[] {
  const [plan, site] = [textIn(attributes, 'plan'), textIn(attributes, 'site')];
  return [
    ...(plan === undefined || world.stock.has(plan) ? [] : [missingThing('plan')]),
    ...(site === undefined || SITES.some(({ slug }) => slug === site)
      ? []
      : [missingThing('site')]),
  ];
}

/** What an installation names and there is not, in the project. */
export function missingInstallation(
  { world, clock }: Core,
  attributes: Attributes,
  projectId: string | undefined,
): Problem[] {
  const system = textIn(attributes, 'operating_system');
  const userData = textIn(attributes, 'user_data');
  const keys = attributes['ssh_keys'];
  const isOwn = (one: { projectId: string; createdAtMs: number; goneAtMs: number } | undefined) =>
    one !== undefined && one.projectId === projectId && isThere({ id: '', ...one }, clock.now());
  const isSystem = world.operatingSystems.some(({ slug }) => slug === system);
  return [
    ...(system === undefined || isSystem ? [] : [missingThing('operating_system')]),
    ...(userData === undefined || isOwn(world.userData.get(userData))
      ? []
      : [missingThing('user_data')]),
    ...(Array.isArray(keys) && !keys.every((id) => isOwn(world.sshKeys.get(String(id))))
      ? [missingThing('ssh_keys')]
      : []),
  ];
}

/** What the operating system cannot do. `usual`: the one that is installed where none is named. */
export function featureProblems({ world }: Core, attributes: Attributes, usual = ''): Problem[] {
  const wanted = textIn(attributes, 'operating_system') ?? usual;
  const features = world.operatingSystems.find(({ slug }) => slug === wanted)?.features;
  if (!features) return [];
  return (['raid', 'ssh_keys', 'user_data'] as const)
    .filter((name) => !features[name] && isGiven(attributes[name]))
    .map((name) => invalid(name, 'is not supported by the operating system'));
}

const isGiven = (value: Attributes[string] | undefined): boolean =>
  Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null && value !== '';

function billingProblems(project: Project | undefined, billing: string | undefined): Problem[] {
  if (!project || billing === undefined) return [];
  const isReserved = project.provisioningType === 'reserved';
  return isReserved === (billing === 'yearly')
    ? []
    : [invalid('billing', `is not available in ${project.provisioningType} projects`)];
}

function refuseDuplicate({ world, knobs, clock }: Core, projectId: string, hostname: string): void {
  if (knobs.duplicateNames === 'allowed') return;
  const isTaken = [...world.servers.values()].some(
    (one) => one.projectId === projectId && one.hostname === hostname && isThere(one, clock.now()),
  );
  if (isTaken) refuseFor([invalid('hostname', 'has already been taken')], [], 422);
}

function isFull({ world, clock }: Core, { team }: Call): boolean {
  const projects = world.projects.filter(({ teamId }) => teamId === team.id).map(({ id }) => id);
  const own = [...world.servers.values()].filter(
    (one) => projects.includes(one.projectId) && isThere(one, clock.now()),
  );
  return own.length >= team.serversMax;
}

interface NewServer extends Pick<Server, 'projectId' | 'plan' | 'site' | 'hostname' | 'billing'> {
  readonly operatingSystem: string;
  readonly raid: string | null;
  readonly userData: string | null;
  readonly sshKeys: readonly string[];
  /** Installed long ago, and without a machine. */
  readonly isPaper?: boolean;
}

function addServer({ world, clock }: Core, wanted: NewServer): Server {
  const { operatingSystem, raid, userData, sshKeys, isPaper = false, ...rest } = wanted;
  const { ids } = world;
  const mac = () => `02:${ids.hex(10).match(/../g)!.join(':')}`;
  const createdAtMs = clock.now();
  const status = isPaper ? 'on' : 'starting_deploy';
  const content = (userData === null ? undefined : world.userData.get(userData)?.content) ?? null;
  const server: Server = {
    id: newId('sv', ids),
    ...rest,
    label: ids.hex(10).toUpperCase(),
    ...{ createdAtMs, goneAtMs: Infinity, status, history: [{ atMs: createdAtMs, status }] },
    ...{ locked: false, address: null, scheduledDeletionAtMs: null, staleOnUntilMs: 0 },
    ...{ isLeaving: false, isPaper },
    address6: `2001:db8:${ids.hex(4)}::1`,
    macs: [mac(), mac(), mac()],
    deploy: { operatingSystem, hostname: rest.hostname, raid, userData, sshKeys, content },
  };
  world.servers.set(server.id, server);
  addToStock(world, server, -1);
  return server;
}

/** Somebody else's server takes a name, in the project where it is ours. */
export function addStranger(
  core: Core,
  { like = {}, hostname }: { readonly like?: Attributes; readonly hostname?: string },
): Server {
  const { world } = core;
  const [plan, project] = [world.plans[0]!, world.projects[0]!];
  const wanted = textIn(like, 'project');
  const found = world.projects.find(({ id, name }) => id === wanted || name === wanted);
  const server = addServer(core, {
    projectId: (found ?? project).id,
    plan: textIn(like, 'plan') ?? plan.slug,
    site: textIn(like, 'site') ?? SITES[0]!.slug,
    hostname: hostname ?? textIn(like, 'hostname') ?? 'stranger',
    ...{ billing: 'hourly', operatingSystem: world.operatingSystems[0]!.slug, raid: null },
    ...{ userData: null, sshKeys: [], isPaper: true },
  });
  server.address = `203.0.113.${1 + (world.servers.size % 254)}`;
  return server;
}
