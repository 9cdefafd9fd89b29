import { fingerprintOf } from '../../equinix/state/ssh-key-text.ts';
import type { Call, Core } from '../core.ts';
import { planName, PRICES, SITES, SPECS_TEXT } from '../state/catalogue.ts';
import {
  isThere,
  type Project,
  type Server,
  type ServerStatus,
  type SshKey,
  type Team,
  type UserData,
} from '../state/world.ts';

/** As the service writes times: whole seconds, with an offset. */
export const timeText = (atMs: number): string =>
  `${new Date(atMs).toISOString().slice(0, 19)}+00:00`;

export const document = (data: object) => ({ data, meta: {} });
const slugOf = (name: string) => name.toLowerCase().replaceAll(' ', '-');

const teamView = ({ id, name }: Team) => ({
  ...{ id, name, slug: slugOf(name), description: null, address: null },
  currency: { id: 'cur_usd', code: 'USD', name: 'United States Dollar' },
  status: 'verified',
});

const projectPart = ({ world, clock }: Core, { id, name, teamId }: Project) => ({
  ...{ id, name, slug: slugOf(name), description: null },
  ...{ billing_type: 'Normal', billing_method: 'Normal', bandwidth_alert: false },
  environment: 'Development',
  billing: { subscription_id: `sub_${teamId}`, type: 'Normal', method: 'Normal' },
  stats: {
    ...{ ip_addresses: 0, prefixes: 0 },
    servers: [...world.servers.values()].filter(
      (one) => one.projectId === id && isThere(one, clock.now()),
    ).length,
    ...{ containers: 0, vlans: 0 },
  },
});

export const projectView = (core: Core, project: Project) => ({
  id: project.id,
  type: 'projects',
  attributes: {
    tags: [],
    ...projectPart(core, project),
    provisioning_type: project.provisioningType,
    team: teamView(core.world.teams.find(({ id }) => id === project.teamId)!),
    created_at: timeText(project.createdAtMs),
    updated_at: timeText(project.createdAtMs),
  },
});

const planPart = ({ world }: Core, { plan, billing }: Server) => ({
  id: world.plans.find(({ slug }) => slug === plan)!.id,
  ...{ name: planName(plan), slug: plan, billing },
});

const systemPart = ({ world }: Core, { deploy }: Server) => {
  const system = world.operatingSystems.find(({ slug }) => slug === deploy.operatingSystem)!;
  const { name, slug, version, features, distro, series } = system;
  return { name, slug, version, features, distro: { name: distro, slug: distro, series } };
};

const hostnameView = ({ knobs }: Core, { hostname }: Server): string => {
  if (knobs.hostnameCase === 'kept') return hostname;
  return knobs.hostnameCase === 'upper' ? hostname.toUpperCase() : hostname.toLowerCase();
};

/** What the status was then. */
const statusAt = ({ history, status }: Server, atMs: number): ServerStatus =>
  history.findLast((one) => one.atMs <= atMs)?.status ?? status;

function statusView({ clock }: Core, call: Call, server: Server, atMs: number): string {
  const told = call.strikeAt(server, 'statusText');
  if (told) return told.shows;
  return clock.now() < server.staleOnUntilMs ? 'on' : statusAt(server, atMs);
}

/** What a create answers. */
export const shortServerView = (core: Core, server: Server) => ({
  type: 'servers',
  id: server.id,
  attributes: {
    hostname: hostnameView(core, server),
    label: server.label,
    role: 'Bare Metal',
    status: server.status,
    primary_ipv4: server.address,
    specs: SPECS_TEXT,
    plan: planPart(core, server),
  },
});

/** `atMs`: as it was then. */
export function serverView(core: Core, call: Call, server: Server, atMs = core.clock.now()) {
  const { world, knobs } = core;
  const project = world.projects.find(({ id }) => id === server.projectId)!;
  const { city, country, slug, facility } = SITES.find((site) => site.slug === server.site)!;
  const site = { id: `loc_${slug}`, name: city, slug, facility };
  const { scheduledDeletionAtMs } = server;
  return {
    id: server.id,
    type: 'servers',
    attributes: {
      tags: [],
      hostname: hostnameView(core, server),
      label: server.label,
      price: PRICES.hour,
      role: 'Bare Metal',
      primary_ipv4: server.address,
      primary_ipv6: server.address6,
      status: statusView(core, call, server, atMs),
      ipmi_status: call.strikeAt(server, 'ipmiUnavailable') ? 'Unavailable' : 'Normal',
      created_at: timeText(server.createdAtMs),
      scheduled_deletion_at:
        scheduledDeletionAtMs === null ? null : timeText(scheduledDeletionAtMs),
      locked: server.locked,
      ...(knobs.siteShown === 'region' ? { region: { city, country, site } } : { site: slug }),
      team: teamView(world.teams.find(({ id }) => id === project.teamId)!),
      project: projectPart(core, project),
      plan: planPart(core, server),
      operating_system: systemPart(core, server),
      specs: { ...SPECS_TEXT, gpu: null },
      interfaces: ['external', 'internal', 'ipmi'].map((role, n) => ({
        ...{ role, name: role, mac_address: server.macs[n], description: null },
      })),
    },
  };
}

export const deployConfigView = ({ id, deploy }: Server) => ({
  id,
  type: 'deploy_config',
  attributes: {
    operating_system: deploy.operatingSystem,
    hostname: deploy.hostname,
    raid: deploy.raid,
    disk_layout: [],
    user_data: deploy.userData,
    ssh_keys: deploy.sshKeys,
  },
});

export const userDataView = ({
  id,
  description,
  content,
  createdAtMs,
  updatedAtMs,
  projectId,
}: UserData) => ({
  id,
  type: 'user_data',
  attributes: {
    description,
    content,
    created_at: timeText(createdAtMs),
    updated_at: timeText(updatedAtMs),
    decoded_content: Buffer.from(content, 'base64').toString(),
    project: { id: projectId },
  },
});

export const sshKeyView = ({ id, name, publicKey, createdAtMs, projectId }: SshKey) => ({
  id,
  type: 'ssh_keys',
  attributes: {
    tags: [],
    name,
    public_key: publicKey,
    fingerprint: fingerprintOf(publicKey),
    created_at: timeText(createdAtMs),
    updated_at: timeText(createdAtMs),
    project: { id: projectId },
  },
});
