import type { Core } from '../core.ts';

/** Where something is wanted: metro and facilities by code or id; anywhere when neither is given. */
export interface Place {
  readonly metro?: string | undefined;
  readonly facility?: string | readonly string[] | undefined;
}

export const facilityCodes = ({ facility }: Place): readonly string[] =>
  typeof facility === 'string' ? [facility] : (facility ?? []);

const isMetro = (metro: { id: string; code: string }, wanted: string) =>
  metro.code === wanted.toLowerCase() || metro.id === wanted;

/** Whether the facility of that code is at the place. */
export function isAt({ state }: Core, place: Place, code: string): boolean {
  const facility = state.catalogue.facilities.find((one) => one.code === code)!;
  const metro = state.catalogue.metros.find((one) => one.code === facility.metro)!;
  const codes = facilityCodes(place);
  const anyFacility = codes.length === 0 || codes.includes('any');
  return (
    (place.metro === undefined || isMetro(metro, place.metro)) &&
    (anyFacility || codes.includes(facility.code) || codes.includes(facility.id))
  );
}

/** Codes of the facilities at the place. */
export const facilitiesAt = (core: Core, place: Place): string[] =>
  core.state.catalogue.facilities.map(({ code }) => code).filter((code) => isAt(core, place, code));

/** What of it is not in the catalogue, as messages that name the field. */
export function unknownIn({ state }: Core, wanted: Place & { plan: string }): string[] {
  const { plans, metros, facilities } = state.catalogue;
  const unknown = facilityCodes(wanted).filter(
    (code) => code !== 'any' && !facilities.some((one) => one.code === code || one.id === code),
  );
  return [
    ...(plans.some(({ slug }) => slug === wanted.plan)
      ? []
      : [`plan: "${wanted.plan}" is not a valid plan`]),
    ...(wanted.metro === undefined || metros.some((one) => isMetro(one, wanted.metro!))
      ? []
      : [`metro: "${wanted.metro}" is not a valid metro`]),
    ...unknown.map((code) => `facility: "${code}" is not a valid facility`),
  ];
}

/** How many more devices of the plan the facility has on demand; without the knob no end of them. */
export function leftOnDemand({ state, knobs }: Core, facility: string, plan: string): number {
  if (knobs.onDemandStock === null) return Infinity;
  const taken = [...state.devices.values()].filter(
    (one) =>
      one.reservationId === null &&
      one.state !== 'deleted' &&
      one.facility === facility &&
      one.plan === plan,
  );
  return Math.max(0, knobs.onDemandStock - taken.length);
}
