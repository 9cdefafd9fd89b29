import { factLines, whenText, timeText } from '../layout.ts';
import { doingText, needsText } from '../../domain/fleet-status.ts';
import { spanText } from '../../lib/texts.ts';
import type { Fleet, RequestList, Sessions } from './answers.ts';
import { documentText, isData } from './output.ts';
import { ok, type Session, type Told } from './session.ts';
import { headlineText } from '../../domain/headline.ts';

const REQUESTS_SHOWN = 20;
/** Component of the sessions that carry requests out. */
const DAEMON = 'shepherd';

/** `shepherd status`: what needs a person, what is being done, and when the next thing happens. */
export async function showStatus({ client, format, width, paint }: Session): Promise<Told> {
  const fleet = await client.get<Fleet>('/fleet');
  const { atMs, headline, status } = fleet;
  if (isData(format)) return ok(await documentText({ atMs, headline, status }, format));
  if (format === 'name') return ok(status.needs.map(({ title }) => title).join('\n'));
  const { next } = status;
  const facts: [string, string][] = [
    ['machines', countsText(fleet)],
    ...needFacts(fleet),
    ['doing', doingText(status)],
    ['next', next ? `${whenText(next.atMs, atMs)}: ${next.text}` : 'nothing at a known time'],
  ];
  return ok(paint(factLines(facts, width)));
}

/** What needs a person, each with its reason and what ends it. */
function needFacts({ atMs, status }: Pick<Fleet, 'atMs' | 'status'>): [string, string][] {
  if (status.needs.length === 0) return [['needs you', 'nothing']];
  return status.needs.map(({ kind, title, text, sinceMs }, at) => {
    const since = sinceMs === null ? '' : ` since ${whenText(sinceMs, atMs)}`;
    const why = kind === 'machines' ? '"shepherd machines --needs-human" lists them' : text;
    return [at === 0 ? 'needs you' : '', `${titleText(title)}${since}: ${why}`];
  });
}

/** In the capitals that are painted. */
const titleText = (title: string): string =>
  title.replace('is frozen', 'is FROZEN').replace('cannot be listed', 'CANNOT BE LISTED');

/** `shepherd fleet status`: whether machines are recovered now, and what stands in the way. */
export async function fleetStatus(session: Session): Promise<Told> {
  const { client, format, width } = session;
  const [fleet, { sessions }, { requests }] = await Promise.all([
    client.get<Fleet>('/fleet'),
    client.get<Sessions>('/sessions'),
    client.get<RequestList>('/requests', { state: 'open', limit: 1_000 }),
  ]);
  const daemons = sessions.filter(
    ({ component, endedAtMs }) => component === DAEMON && endedAtMs === null,
  );
  if (isData(format)) {
    const { atMs, total, counts, headline, needHuman, status, guard, budget, unlisted } = fleet;
    const told = { atMs, total, counts, headline, needHuman, status, guard, budget, unlisted };
    return ok(await documentText({ ...told, daemons, requests }, format));
  }
  if (format === 'name') return ok('fleet');
  return ok(session.paint(statusText({ fleet, daemons, requests }, width)));
}

interface Status {
  readonly fleet: Fleet;
  readonly daemons: Sessions['sessions'];
  readonly requests: RequestList['requests'];
}

function statusText({ fleet, daemons, requests }: Status, width: number): string {
  const { atMs, budget } = fleet;
  const told = requests.slice(0, REQUESTS_SHOWN);
  const more = requests.length - told.length;
  const facts: [string, string][] = [
    ['guard', guardTexts(fleet).join('\n')],
    ...unlistedTexts(fleet).map((line): [string, string] => ['', line]),
    ['daemons', daemons.length === 0 ? 'none' : `${daemons.length} alive`],
    ...daemons.map(({ host, runtimeInfo, sessionId, startedAtMs }): [string, string] => [
      '',
      `${host ?? runtimeInfo}, session ${sessionId}, since ${whenText(startedAtMs, atMs)}`,
    ]),
    ['fleet', countsText(fleet)],
    ...budget.map(({ scope, permits, budget: limit }, at): [string, string] => [
      at === 0 ? 'recovering' : '',
      `${scope}: ${permits} of at most ${limit}`,
    ]),
    // What is frozen or cannot be listed stands above, with its reason.
    ['needs you', needsText(fleet.status)],
    ['requests', requests.length === 0 ? 'none open' : `${requests.length} open`],
    ...told.map((each): [string, string] => [
      '',
      `${each.verb} of ${each.slot ?? each.pool ?? each.provider ?? 'the fleet'} by ${each.by}, ` +
        `${spanText(atMs - each.createdAtMs)} ago, valid until ${timeText(each.expiresAtMs)}`,
    ]),
    ...(more > 0 ? [['', `and ${more} more`] satisfies [string, string]] : []),
  ];
  return factLines(facts, width);
}

type Scope = Fleet['guard']['scopes'][number];

/** Whether machines are recovered now: a line for each thing that keeps them from it. */
export function guardTexts({ guard, atMs }: Pick<Fleet, 'guard' | 'atMs'>): string[] {
  const barring = guard.scopes.filter(({ state }) => state !== 'watching');
  return barring.length === 0
    ? ['recovery is not frozen']
    : barring.map((scope) => scopeText(scope, atMs));
}

function scopeText({ scope, state, sinceMs, reason, ends }: Scope, atMs: number): string {
  const whose = scope === 'fleet' ? 'the fleet' : `provider ${scope}`;
  const since = sinceMs === null ? '' : ` since ${whenText(sinceMs, atMs)}`;
  const what = state === 'frozen' ? 'is FROZEN' : 'waits';
  const end = ends === null ? '' : `. ${ends}`;
  return `recovery ${what} for ${whose}${since}: ${reason ?? state}${end}`;
}

export const unlistedTexts = ({ unlisted, atMs }: Pick<Fleet, 'unlisted' | 'atMs'>): string[] =>
  unlisted.map(
    ({ provider, sinceMs, cause }) =>
      `provider ${provider} CANNOT BE LISTED since ${whenText(sinceMs, atMs)}: ${cause}`,
  );

export const countsText = ({ headline }: Pick<Fleet, 'headline'>): string => headlineText(headline);
