import { z } from 'zod';
import { type Api, type ApiDeps, createApi } from '../../../http/api.ts';
import type { LatitudeConfig } from '../project-config.ts';
import { ANSWERS, CREATE } from './answers.ts';

const MINUTE_MS = 60_000;
const LIMITS = { maxConcurrency: 4, gapMs: 0 };

/** What is particular to the API of Latitude.sh: among that, a budget for reads and one for writes. */
export function createLatitudeApi(config: LatitudeConfig, deps: Omit<ApiDeps, 'observer'>): Api {
  const { name, baseUrl, token, timings, readsPerMinute, writesPerMinute } = config;
  const inAMinute = (startsMax: number) => ({ budgets: [{ startsMax, withinMs: MINUTE_MS }] });
  return createApi(
    {
      name,
      baseUrl,
      token,
      headersFor: (key) => ({
        Authorization: `Bearer ${key}`,
        'Api-Version': '2023-06-01',
        Accept: 'application/vnd.api+json',
      }),
      endpointName,
      form: ANSWERS,
      limits: LIMITS,
      classes: { reads: inAMinute(readsPerMinute), writes: inAMinute(writesPerMinute) },
      classOf: ({ method }) => (method === 'GET' ? 'reads' : 'writes'),
      timings,
      attemptsMax: 4,
      secretsIn: rememberSecrets(),
    },
    { ...deps, observer: SILENT },
  );
}

/** What the core counts of each call is all that is counted. */
const SILENT: ApiDeps['observer'] = {
  attempt: () => undefined,
  slots: () => undefined,
  retry: () => undefined,
  paused: () => undefined,
  walk: () => undefined,
};

/** So many scripts are kept in mind: an answer may quote what an earlier request sent. */
const SCRIPTS_KEPT = 8;

function rememberSecrets() {
  let sent: readonly (readonly string[])[] = [];
  return (body: unknown): string[] => {
    const found = secretsIn(body);
    if (found.length > 0) sent = [found, ...sent].slice(0, SCRIPTS_KEPT);
    return [...new Set(sent.flat())];
  };
}

const withContent = z.object({ data: z.object({ attributes: z.object({ content: z.string() }) }) });
const SCRIPT = /^ *content: ([A-Za-z0-9+/=]+)$/m;

/** The script of a first boot, in all the forms in which it is sent. */
export function secretsIn(body: unknown): string[] {
  const content = withContent.safeParse(body).data?.data.attributes.content;
  if (content === undefined) return [];
  const text = decoded(content);
  const encoded = SCRIPT.exec(text)?.[1] ?? '';
  return [content, encoded, ...decoded(encoded).split('\n')].filter((part) => part.trim() !== '');
}
const decoded = (base64: string): string => Buffer.from(base64, 'base64').toString('utf8');

const ENDPOINTS: readonly (readonly [method: string, path: RegExp, name: string])[] = [
  ['GET', /^\/servers$/, 'ListServers'],
  ['POST', /^\/servers$/, CREATE],
  ['GET', /^\/servers\/\w+$/, 'GetServer'],
  ['DELETE', /^\/servers\/\w+$/, 'DeleteServer'],
  ['POST', /^\/servers\/\w+\/actions$/, 'PostAction'],
  ['POST', /^\/servers\/\w+\/reinstall$/, 'ReinstallServer'],
  ['POST', /^\/servers\/\w+\/schedule_deletion$/, 'ScheduleDeletion'],
  ['GET', /^\/servers\/\w+\/deploy_config$/, 'GetDeployConfig'],
  ['GET', /^\/user_data$/, 'ListUserData'],
  ['POST', /^\/user_data$/, 'CreateUserData'],
  ['GET', /^\/user_data\/\w+$/, 'GetUserData'],
  ['PATCH', /^\/user_data\/\w+$/, 'UpdateUserData'],
  ['DELETE', /^\/user_data\/\w+$/, 'DeleteUserData'],
  ['GET', /^\/ssh_keys$/, 'ListSshKeys'],
  ['POST', /^\/ssh_keys$/, 'CreateSshKey'],
  ['GET', /^\/projects$/, 'ListProjects'],
  ['GET', /^\/plans\/operating_systems$/, 'ListOperatingSystems'],
];

/** Name of a route for metrics and logs; null: it has none. */
export const endpointName = (method: string, path: string): string | null =>
  ENDPOINTS.find(([of, at]) => of === method && at.test(path))?.[2] ?? null;
