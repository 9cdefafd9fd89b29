import type { Generator } from '../kit/random.ts';
import { DEFAULT_PLANS, DEFAULT_STOCK, SITES } from './catalogue.ts';

export type Billing = 'hourly' | 'monthly' | 'yearly';
export type ServerStatus =
  | 'starting_deploy'
  | 'deploying'
  | 'disk_erasing'
  | 'on'
  | 'off'
  | 'failed_deployment';

export interface Project {
  readonly id: string;
  readonly name: string;
  readonly provisioningType: 'on_demand' | 'reserved';
}

/** A resource that lists show from its creation to its removal. */
export interface ProjectResource {
  readonly id: string;
  /** Id. */
  readonly projectId: string;
  readonly createdAtMs: number;
  /** Infinity while it exists. */
  goneAtMs: number;
}

export interface LatitudeSshKey extends ProjectResource {
  readonly name: string;
  readonly publicKey: string;
}

export interface UserData extends ProjectResource {
  description: string;
  /** Base64. */
  content: string;
  updatedAtMs: number;
}

/** The configuration of a server's installation. */
export interface DeployConfig {
  readonly operatingSystem: string;
  readonly hostname: string;
  readonly raid: string | null;
  /** Id. */
  readonly userData: string | null;
  /** Ids. */
  readonly sshKeys: readonly string[];
  /** The user data at the installation's request. */
  readonly content: string | null;
}

export interface LatitudeServer extends ProjectResource {
  hostname: string;
  readonly label: string;
  readonly plan: string;
  readonly site: string;
  readonly billing: Billing;
  status: ServerStatus;
  /** From an installation's request to its end, whatever the status shows. */
  isInstalling: boolean;
  /** Null until the simulated machine has an address. */
  address: string | null;
  scheduledDeletionAtMs: number | null;
  deploy: DeployConfig;
  /** Deleted, and still readable. */
  isLeaving: boolean;
  /** It has no simulated machine. */
  readonly isPaper: boolean;
}

/** Remaining stock by plan and site. */
export type Stock = Readonly<Record<string, Readonly<Record<string, number>>>>;

export interface LatitudeWorld {
  readonly projects: readonly Project[];
  readonly stock: Map<string, Map<string, number>>;
  readonly sshKeys: Map<string, LatitudeSshKey>;
  readonly userData: Map<string, UserData>;
  readonly servers: Map<string, LatitudeServer>;
  readonly ids: Generator;
  /** Epoch ms. */
  readonly now: () => number;
}

const FULL_STOCK: Stock = Object.fromEntries(
  DEFAULT_PLANS.map((plan) => [
    plan,
    Object.fromEntries(SITES.map(({ slug }) => [slug, DEFAULT_STOCK])),
  ]),
);

/** A team with two projects: one on demand, one reserved. */
export function createWorld(
  { ids, now }: Pick<LatitudeWorld, 'ids' | 'now'>,
  stock: Stock = FULL_STOCK,
): LatitudeWorld {
  return {
    projects: [
      { id: newId('proj', ids), name: 'fleet', provisioningType: 'on_demand' },
      { id: newId('proj', ids), name: 'reserved', provisioningType: 'reserved' },
    ],
    stock: new Map(
      Object.entries(stock).map(([plan, sites]) => [plan, new Map(Object.entries(sites))]),
    ),
    sshKeys: new Map(),
    userData: new Map(),
    servers: new Map(),
    ...{ ids, now },
  };
}

const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz0123456789';
const ID_LENGTH = 13;
/** An id such as `sv_3xMV0xMXpNmQp`. */
export const newId = (prefix: string, ids: Generator): string =>
  `${prefix}_${Array.from({ length: ID_LENGTH }, () => LETTERS[Math.floor(ids.next() * LETTERS.length)]).join('')}`;

/** Whether it exists at this time. */
export const isThere = ({ createdAtMs, goneAtMs }: ProjectResource, atMs: number): boolean =>
  createdAtMs <= atMs && atMs < goneAtMs;

export const stockLeft = ({ stock }: LatitudeWorld, plan: string, site: string): number =>
  stock.get(plan)?.get(site) ?? 0;

export function addToStock(
  world: LatitudeWorld,
  { plan, site }: LatitudeServer,
  count: number,
): void {
  world.stock.get(plan)?.set(site, stockLeft(world, plan, site) + count);
}

type NewServer = Pick<
  LatitudeServer,
  'projectId' | 'plan' | 'site' | 'hostname' | 'billing' | 'isPaper'
> & { readonly deploy: Omit<DeployConfig, 'hostname' | 'content'> };

/** A server on paper was installed long ago; other servers are installed next. */
export function addServer(world: LatitudeWorld, wanted: NewServer): LatitudeServer {
  const { deploy, ...rest } = wanted;
  const content = contentOf(world, deploy.userData);
  const server: LatitudeServer = {
    id: newId('sv', world.ids),
    label: world.ids.hex(10).toUpperCase(),
    ...rest,
    ...{ createdAtMs: world.now(), goneAtMs: Infinity, isLeaving: false },
    status: rest.isPaper ? 'on' : 'starting_deploy',
    isInstalling: !rest.isPaper,
    ...{ address: null, scheduledDeletionAtMs: null },
    deploy: { ...deploy, hostname: rest.hostname, content },
  };
  world.servers.set(server.id, server);
  addToStock(world, server, -1);
  return server;
}

export const contentOf = ({ userData }: LatitudeWorld, id: string | null): string | null =>
  (id === null ? undefined : userData.get(id)?.content) ?? null;
