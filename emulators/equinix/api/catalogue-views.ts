import type { Core } from '../core.ts';
import type { Facility, Metro, OperatingSystem, Plan } from '../state/catalogue.ts';
import { DEFAULT_OPERATING_SYSTEM } from '../state/catalogue.ts';
import { planFactsOf, systemFactsOf } from '../state/catalogue-facts.ts';
import type { Node } from './expansion.ts';

/** What is on sale, and where. The description gives none of it an `href` of its own. */
export interface CatalogueViews {
  plan(plan: Plan): Node;
  operatingSystem(system: OperatingSystem): Node;
  facility(facility: Facility): Node;
  metro(metro: Metro): Node;
}

export function createCatalogueViews({ state, knobs }: Pick<Core, 'state' | 'knobs'>) {
  const links = (path: string, of: readonly { readonly id: string }[]) =>
    of.map(({ id }) => ({ href: `${knobs.hrefPrefix}${path}/${id}` }));
  const metroOf = (facility: Facility) =>
    state.catalogue.metros.find((one) => one.code === facility.metro)!;

  const views: CatalogueViews = {
    plan: (plan) => {
      const { cpus, memory, drives, nics, hourPrice } = planFactsOf(plan.slug);
      const { facilities, metros } = state.catalogue;
      return {
        id: plan.id,
        slug: plan.slug,
        name: plan.name,
        description: `${plan.name} machine`,
        line: 'baremetal',
        class: plan.slug,
        type: 'standard',
        legacy: false,
        categories: ['compute'],
        deployment_types: ['on_demand', 'spot_market'],
        available_in: links('/facilities', facilities),
        available_in_metros: links('/locations/metros', metros),
        pricing: { hour: hourPrice },
        specs: { cpus, memory: { total: memory }, drives, nics, features: { raid: false } },
      };
    },
    operatingSystem: (system) => {
      const { distro, distroLabel, version, releaseDate } = systemFactsOf(system.slug);
      return {
        id: system.id,
        slug: system.slug,
        name: system.name,
        distro,
        distro_label: distroLabel,
        version,
        release_date: releaseDate,
        default_operating_system: system.slug === DEFAULT_OPERATING_SYSTEM,
        licensed: false,
        lifecycle_state: 'active',
        preinstallable: distro !== 'custom_ipxe',
        pricing: {},
        provisionable_on: state.catalogue.plans.map(({ slug }) => slug),
      };
    },
    facility: (facility) => {
      const metro = metroOf(facility);
      return {
        id: facility.id,
        code: facility.code,
        name: facility.name,
        features: ['baremetal', 'backend_transfer', 'layer_2', 'global_ipv4', 'ibx'],
        ip_ranges: ['198.18.0.0/15', '2001:db8::/32'],
        address: {
          address: `${facility.name} data centre`,
          city: metro.name,
          country: metro.country,
          zip_code: '00000',
        },
        metro: views.metro(metro),
      };
    },
    metro: ({ id, code, name, country }) => ({ id, code, name, country }),
  };
  return views;
}
