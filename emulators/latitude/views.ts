import { createHash } from 'node:crypto';
import type { LatitudeCall } from './api.ts';
import { type OperatingSystem, OPERATING_SYSTEMS, SITES } from './catalogue.ts';
import type { Project, LatitudeServer, LatitudeSshKey, UserData, LatitudeWorld } from './world.ts';

/** The service's form of times: whole seconds, with an offset. */
export const timeText = (atMs: number): string =>
  `${new Date(atMs).toISOString().slice(0, 19)}+00:00`;

export const document = (data: object) => ({ data, meta: {} });

const START = timeText(0);
const TEAM = {
  ...{ id: 'team_1', name: 'Fleet', slug: 'fleet', description: null, address: null },
  currency: { id: 'cur_usd', code: 'USD', name: 'United States Dollar' },
  status: 'verified',
};
const SPECS = {
  cpu: 'Xeon E-2276G CPU @ 3.80GHz (6 cores)',
  disk: '500 GB SSD',
  ram: '64 GB',
  nic: '2 X 1 Gbit/s',
};

const projectPart = ({ id, name }: Project) => ({
  ...{ id, name, slug: name, description: null },
  ...{ billing_type: 'Normal', billing_method: 'Normal', bandwidth_alert: false },
  environment: 'Development',
  billing: { subscription_id: null, type: 'Normal', method: 'Normal' },
  stats: { ip_addresses: 0, prefixes: 0, servers: 0, containers: 0, vlans: 0 },
});

export const projectView = (project: Project) => ({
  id: project.id,
  type: 'projects',
  attributes: {
    tags: [],
    ...projectPart(project),
    provisioning_type: project.provisioningType,
    team: TEAM,
    ...{ created_at: START, updated_at: START },
  },
});

export const operatingSystemView = (
  { stock }: LatitudeWorld,
  { slug, name, distro, version, user, features }: OperatingSystem,
) => ({
  id: `os_${slug.replaceAll('_', '')}`,
  type: 'operating_systems',
  attributes: {
    ...{ name, distro, slug, version, user, features },
    provisionable_on: [...stock.keys()],
  },
});

const planPart = ({ plan, billing }: LatitudeServer) => ({
  ...{ id: `plan_${plan.replaceAll('-', '')}`, name: plan.replaceAll('-', '.') },
  ...{ slug: plan, billing },
});

/** The answer to a create. */
export const shortServerView = (call: LatitudeCall, server: LatitudeServer) => ({
  type: 'servers',
  id: server.id,
  attributes: {
    hostname: hostnameView(call, server),
    label: server.label,
    role: 'Bare Metal',
    status: server.status,
    primary_ipv4: server.address,
    specs: SPECS,
    plan: planPart(server),
  },
});

const hostnameView = (call: LatitudeCall, { hostname }: LatitudeServer): string =>
  call.strike('upperCaseNames') ? hostname.toUpperCase() : hostname;

export function serverView(world: LatitudeWorld, call: LatitudeCall, server: LatitudeServer) {
  const { city, country, slug } = SITES.find((site) => site.slug === server.site)!;
  const { scheduledDeletionAtMs: leavesAtMs, deploy } = server;
  const system = OPERATING_SYSTEMS.find((one) => one.slug === deploy.operatingSystem)!;
  return {
    id: server.id,
    type: 'servers',
    attributes: {
      tags: [],
      hostname: hostnameView(call, server),
      label: server.label,
      price: 0.22,
      role: 'Bare Metal',
      primary_ipv4: server.address,
      primary_ipv6: null,
      status: call.strikeServer(server, 'statusText')?.shows ?? server.status,
      ipmi_status: 'Normal',
      created_at: timeText(server.createdAtMs),
      scheduled_deletion_at: leavesAtMs === null ? null : timeText(leavesAtMs),
      locked: call.strikeServer(server, 'locked') !== undefined,
      region: {
        ...{ city, country },
        site: { id: `loc_${slug}`, name: city, slug, facility: `${city} ${slug}` },
      },
      team: TEAM,
      project: projectPart(world.projects.find(({ id }) => id === server.projectId)!),
      plan: planPart(server),
      operating_system: {
        ...{ name: system.name, slug: system.slug, version: system.version },
        features: system.features,
        distro: { name: system.distro, slug: system.distro, series: system.series },
      },
      specs: { ...SPECS, gpu: null },
    },
  };
}

export const deployConfigView = ({ id, deploy }: LatitudeServer) => ({
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

export const userDataView = (userData: UserData) => {
  const { id, description, content, createdAtMs, updatedAtMs, projectId } = userData;
  return {
    id,
    type: 'user_data',
    attributes: {
      ...{ description, content, decoded_content: Buffer.from(content, 'base64').toString() },
      created_at: timeText(createdAtMs),
      updated_at: timeText(updatedAtMs),
      project: { id: projectId },
    },
  };
};

export const sshKeyView = ({ id, name, publicKey, createdAtMs, projectId }: LatitudeSshKey) => ({
  id,
  type: 'ssh_keys',
  attributes: {
    ...{ tags: [], name, public_key: publicKey, fingerprint: fingerprintOf(publicKey) },
    ...{ created_at: timeText(createdAtMs), updated_at: timeText(createdAtMs) },
    project: { id: projectId },
  },
});

/** MD5 of the key: sixteen pairs of digits with colons. */
function fingerprintOf(publicKey: string): string {
  const blob = Buffer.from(publicKey.split(' ')[1] ?? '', 'base64');
  return createHash('md5').update(blob).digest('hex').match(/../g)!.join(':');
}
