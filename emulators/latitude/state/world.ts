import type { Generator } from '../../kit/random.ts';
import { DEFAULT_STOCK, OPERATING_SYSTEMS, type OperatingSystem, SITES } from './catalogue.ts';
import { newId } from './ids.ts';

export type Billing = 'hourly' | 'monthly' | 'yearly';
export type ServerStatus =
  | 'starting_deploy'
  | 'deploying'
  | 'disk_erasing'
  | 'on'
  | 'off'
  | 'failed_deployment'
  | 'failed_disk_erasing';

export interface Team {
  readonly id: string;
  readonly name: string;
  /** How many servers it may have. */
  serversMax: number;
}

/** What lets in; of one team. */
export interface ApiKey {
  readonly token: string;
  readonly teamId: string;
  /** Ids of rules that revoked the keys before it. */
  readonly spares: readonly string[];
}

export interface Project {
  readonly id: string;
  readonly name: string;
  readonly teamId: string;
  readonly provisioningType: 'on_demand' | 'reserved';
  readonly createdAtMs: number;
}

/** Something that a list shows from its creation to its removal. */
export interface Listed {
  readonly id: string;
  readonly createdAtMs: number;
  /** Infinity: it is there. */
  goneAtMs: number;
}

export interface SshKey extends Listed {
  readonly name: string;
  readonly publicKey: string;
  readonly projectId: string;
}

export interface UserData extends Listed {
  description: string;
  /** Base64. */
  content: string;
  readonly projectId: string;
  updatedAtMs: number;
}

/** What an installation is made with. */
export interface DeployConfig {
  readonly operatingSystem: string;
  readonly hostname: string;
  readonly raid: string | null;
  /** Id. */
  readonly userData: string | null;
  /** Ids. */
  readonly sshKeys: readonly string[];
  /** What the user data said when the installation was asked for. */
  readonly content: string | null;
}

export interface Server extends Listed {
  hostname: string;
  readonly label: string;
  projectId: string;
  readonly plan: string;
  readonly site: string;
  billing: Billing;
  status: ServerStatus;
  /** What the status was since when; the last is the present one. */
  readonly history: { readonly atMs: number; readonly status: ServerStatus }[];
  locked: boolean;
  /** Null until it has one. */
  address: string | null;
  readonly address6: string;
  readonly macs: readonly [external: string, internal: string, ipmi: string];
  scheduledDeletionAtMs: number | null;
  deploy: DeployConfig;
  /** `on` is shown until then. */
  staleOnUntilMs: number;
  /** Deleted, and readable until it is gone. */
  isLeaving: boolean;
  /** Nobody's machine is behind it. */
  readonly isPaper: boolean;
}

export interface WorldEvent {
  readonly id: string;
  readonly action: EventName;
  readonly atMs: number;
  readonly projectId: string;
  readonly target: { readonly id: string; readonly name: string };
}
export type EventName =
  | 'create'
  | 'destroy'
  | 'reinstall'
  | 'power_on'
  | 'power_off'
  | 'reboot'
  | 'lock'
  | 'unlock'
  | 'schedule_deletion'
  | 'unschedule_deletion'
  | 'update';

/** Of each plan, how many there are at each site. */
export type Stock = Readonly<Record<string, Readonly<Record<string, number>>>>;

export interface World {
  readonly teams: readonly Team[];
  readonly keys: ApiKey[];
  readonly projects: readonly Project[];
  readonly plans: readonly { readonly id: string; readonly slug: string }[];
  readonly operatingSystems: readonly OperatingSystem[];
  /** What is left, by plan and site. */
  readonly stock: Map<string, Map<string, number>>;
  readonly sshKeys: Map<string, SshKey>;
  readonly userData: Map<string, UserData>;
  readonly servers: Map<string, Server>;
  readonly events: WorldEvent[];
  readonly ids: Generator;
}

export interface Genesis {
  readonly plans: readonly string[];
  /** Plans and sites that are not in it have none; undefined: all have the default. */
  readonly stock: Stock | undefined;
  readonly serversMax: number;
  readonly newToken: () => string;
  readonly ids: Generator;
  readonly nowMs: number;
}

/**
 * Two teams: the first has a project on demand and a reserved one, the second one project, of
 * strangers.
 */
export function createWorld(genesis: Genesis): World {
  const { plans, stock, serversMax, newToken, ids, nowMs } = genesis;
  const team = (name: string): Team => ({ id: newId('team', ids), name, serversMax });
  const teams = [team('Fleet'), team('Strangers')] as const;
  const project = (name: string, { id: teamId }: Team, kind: Project['provisioningType']) => ({
    ...{ id: newId('proj', ids), name, teamId, provisioningType: kind, createdAtMs: nowMs },
  });
  return {
    teams,
    keys: teams.map(({ id }) => ({ token: newToken(), teamId: id, spares: [] })),
    projects: [
      project('fleet', teams[0], 'on_demand'),
      project('reserved', teams[0], 'reserved'),
      project('strangers', teams[1], 'on_demand'),
    ],
    plans: plans.map((slug) => ({ slug, id: newId('plan', ids) })),
    operatingSystems: OPERATING_SYSTEMS,
    stock: new Map(plans.map((plan) => [plan, stockOf(stock, plan)])),
    sshKeys: new Map(),
    userData: new Map(),
    servers: new Map(),
    events: [],
    ids,
  };
}

const stockOf = (stock: Stock | undefined, plan: string): Map<string, number> =>
  new Map(
    SITES.map(({ slug }) => [
      slug,
      stock === undefined ? DEFAULT_STOCK : (stock[plan]?.[slug] ?? 0),
    ]),
  );

/** Whether it is listed, or was at that time. */
export const isThere = ({ createdAtMs, goneAtMs }: Listed, atMs: number): boolean =>
  createdAtMs <= atMs && atMs < goneAtMs;

export function addToStock({ stock }: World, { plan, site }: Server, count: number): void {
  const sites = stock.get(plan);
  sites?.set(site, (sites.get(site) ?? 0) + count);
}

/** The flash of `on` before a first deployment is no running server. */
export const isInstalling = ({ status, history }: Server): boolean =>
  ['starting_deploy', 'deploying', 'disk_erasing'].includes(status) ||
  (status === 'on' &&
    history[0]?.status !== 'on' &&
    !history.some((one) => one.status === 'deploying'));

const EVENTS_MAX = 5_000;

export function note(world: World, server: Server, action: EventName, atMs: number): void {
  const { id, hostname: name, projectId } = server;
  const event = { id: newId('ev', world.ids), action, atMs, projectId, target: { id, name } };
  world.events.push(event);
  if (world.events.length > EVENTS_MAX) world.events.splice(0, 1_000);
}

/** What rules of a server's life look at. */
export const subjectOf = ({ id, hostname, projectId }: Server) => ({
  ...{ method: '', route: '', server: id, hostname, project: projectId },
});
