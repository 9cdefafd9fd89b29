import { ProviderError } from '../../../../domain/errors.ts';
import { isObject, type Json } from './replies.ts';

/** Where the service begins; needs no login. */
export const ROOT_PATH = '/redfish/v1/';

const OWN_PATH = /^\/redfish\/[\x21-\x7e]*$/;
/** What another reader of the path might take for a way out of it. */
const WAY_OUT = /\/\/|\/\.{1,2}(\/|$)|%2[ef]|[\\#]/i;

/** Whether it is a path that may be asked for: on this BMC, and below `/redfish/`. */
export const isOwnPath = (path: string): boolean => OWN_PATH.test(path) && !WAY_OUT.test(path);

/**
 * The path of a link `{ "@odata.id": … }`; null: there is none.
 * @throws {ProviderError} `permanent`: it leads elsewhere, and is not followed.
 */
export function linkOf(value: unknown): string | null {
  const path = isObject(value) ? value['@odata.id'] : undefined;
  if (typeof path !== 'string') return null;
  return requireOwnPath(path);
}

/** The paths of a collection or of a list of links. */
export const linksOf = (value: unknown): string[] =>
  (Array.isArray(value) ? (value as unknown[]) : []).flatMap((one) => linkOf(one) ?? []);

export function requireOwnPath(path: string): string {
  if (isOwnPath(path)) return path;
  throw new ProviderError('permanent', 'the BMC links to a place that is not its own');
}

/**
 * The path of a `Location`, which may be a whole URL of the same BMC; null: there is none, or it leads
 * elsewhere.
 */
export function locationOf(location: string | undefined, baseUrl: string): string | null {
  if (location === undefined) return null;
  const path = location.startsWith('/') ? location : pathAt(location, new URL(baseUrl).origin);
  return path !== null && isOwnPath(path) ? path : null;
}

/**
 * The path of what was made, by the answer to it, to be asked for at the same BMC alone; null: it does
 * not tell. Some give its whole URL with a name of their own for themselves.
 */
export function madePathOf(location: string | undefined, body: Json | undefined): string | null {
  const told = [location, URL.parse(location ?? '')?.pathname, body?.['@odata.id']];
  const isPath = (path: unknown): path is string => typeof path === 'string' && isOwnPath(path);
  return told.find(isPath) ?? null;
}

function pathAt(location: string, origin: string): string | null {
  const url = URL.parse(location);
  return url?.origin === origin && url.username === '' ? url.pathname + url.search : null;
}

/** One path, with or without a slash at its end. */
export const bareOf = (path: string): string => path.replace(/(?<=.)\/+$/, '');
