import type { Answer, Call, Core, Route } from '../core.ts';
import { planName, PRICES, SITES, SPECS } from '../state/catalogue.ts';
import type { EventName, WorldEvent } from '../state/world.ts';
import { filtersOf, pageOf } from './lists.ts';
import { projectView, timeText } from './views.ts';

/** What is only read: projects, plans, operating systems, events. */
export function catalogueRoutes(core: Core): readonly Route[] {
  return [
    { method: 'GET', path: '/projects', handle: (call) => listProjects(core, call) },
    { method: 'GET', path: '/plans', handle: (call) => listPlans(core, call) },
    {
      method: 'GET',
      path: '/plans/operating_systems',
      handle: (call) => listOperatingSystems(core, call),
    },
    { method: 'GET', path: '/events', handle: (call) => listEvents(core, call) },
  ];
}

function listProjects(core: Core, call: Call): Answer {
  const filters = filtersOf(call, ['name', 'slug', 'id']);
  const items = core.world.projects.filter(
    ({ id, name, teamId }) =>
      teamId === call.team.id &&
      [...filters].every(([filter, value]) => value === (filter === 'id' ? id : name)),
  );
  return pageOf(core, call, items, (project) => projectView(core, project));
}

const STOCK_LEVELS = [
  [0, 'unavailable'],
  [5, 'low'],
  [10, 'medium'],
  [Infinity, 'high'],
] as const;

function listPlans(core: Core, call: Call): Answer {
  const { world } = core;
  const filters = filtersOf(call, ['slug', 'name']);
  const items = world.plans.filter(({ slug }) =>
    [...filters].every(([filter, value]) => value === (filter === 'slug' ? slug : planName(slug))),
  );
  return pageOf(core, call, items, ({ id, slug }) => ({
    id,
    type: 'plans',
    attributes: {
      ...{ slug, name: planName(slug), features: ['ssh', 'user_data', 'raid'], specs: SPECS },
      regions: [...new Set(SITES.map(({ country }) => country))].map((country) =>
        regionView(world.stock.get(slug)!, country),
      ),
    },
  }));
}

function regionView(stock: ReadonlyMap<string, number>, country: string) {
  const sites = SITES.filter((site) => site.country === country).map(({ slug }) => slug);
  const left = (slug: string) => stock.get(slug) ?? 0;
  const total = sites.reduce((sum, slug) => sum + left(slug), 0);
  return {
    name: country,
    deploys_instantly: [],
    locations: { available: sites, in_stock: sites.filter((slug) => left(slug) > 0) },
    stock_level: STOCK_LEVELS.find(([most]) => total <= most)![1],
    pricing: { USD: PRICES },
  };
}

const listOperatingSystems = (core: Core, call: Call): Answer => {
  filtersOf(call, []);
  return pageOf(core, call, core.world.operatingSystems, (system) => ({
    id: `os_${system.slug.replaceAll('_', '')}`,
    type: 'operating_systems',
    attributes: {
      ...{ name: system.name, distro: system.distro, slug: system.slug },
      ...{ version: system.version, user: system.user, features: system.features },
      provisionable_on: core.world.plans.map(({ slug }) => slug),
    },
  }));
};

function listEvents(core: Core, call: Call): Answer {
  const { world } = core;
  const filters = filtersOf(call, ['target_id', 'target_name', 'project', 'action']);
  const own = world.projects.filter(({ teamId }) => teamId === call.team.id).map(({ id }) => id);
  const items = world.events.filter((event) => {
    const shown: Readonly<Record<string, string>> = {
      target_id: event.target.id,
      target_name: event.target.name,
      project: event.projectId,
      action: actionName(core, event.action),
    };
    const fits = [...filters].every(([filter, value]) => shown[filter] === value);
    return own.includes(event.projectId) && event.atMs <= call.listsAtMs && fits;
  });
  const sorted = call.query.get('sort') === '-created_at' ? items.toReversed() : items;
  return pageOf(core, call, sorted, (event) => eventView(core, call, event));
}

const actionName = ({ knobs }: Core, action: EventName): string =>
  knobs.eventNames === 'dotted' ? `servers.${action}` : `${action.replaceAll('_', ' ')} server`;

const eventView = (core: Core, { team }: Call, event: WorldEvent) => {
  const { name, id } = core.world.projects.find((one) => one.id === event.projectId)!;
  return {
    id: event.id,
    type: 'events',
    attributes: {
      action: actionName(core, event.action),
      created_at: timeText(event.atMs),
      author: { id: 'user_1', name: 'Fleet', email: 'fleet@example.test' },
      project: { id, name, slug: name },
      team: { id: team.id, name: team.name },
      target: { id: event.target.id, name: event.target.name },
    },
  };
};
