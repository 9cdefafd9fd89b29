import { factLines, whenText, timeText, type LabelledValue } from '../layout.ts';
import { doingText, needsText } from '../../domain/fleet-status.ts';
import { spanText } from '../../lib/texts.ts';
import type { Fleet, RequestList, Sessions } from './answers.ts';
import type { Session, CommandOutput } from './session.ts';
import { headlineText } from '../../domain/headline.ts';

const REQUESTS_SHOWN = 20;
/** Component of the sessions of daemons. */
const DAEMON = 'shepherd';

/** `shepherd status`: what needs a person, what daemons do now, and when they act next. */
export async function showStatus({ client }: Session): Promise<CommandOutput> {
  const fleet = await client.get<Fleet>('/fleet');
  const { atMs, headline, status } = fleet;
  const { next } = status;
  const facts: LabelledValue[] = [
    ['machines', countsText(fleet)],
    ...needFacts(fleet),
    ['doing', doingText(status)],
    ['next', next ? `${whenText(next.atMs, atMs)}: ${next.text}` : 'nothing is scheduled'],
  ];
  return {
    document: { atMs, headline, status },
    names: status.needs.map(({ title }) => title),
    text: (width) => factLines(facts, width),
  };
}

/** Everything that needs a person, with its reason. */
function needFacts({ atMs, status }: Pick<Fleet, 'atMs' | 'status'>): LabelledValue[] {
  if (status.needs.length === 0) return [['needs you', 'nothing']];
  return status.needs.map(({ kind, title, text, sinceMs }, at) => {
    const since = sinceMs === null ? '' : ` since ${whenText(sinceMs, atMs)}`;
    const why = kind === 'machines' ? '"shepherd machines --needs-human" lists them' : text;
    return [at === 0 ? 'needs you' : '', `${titleText(title)}${since}: ${why}`];
  });
}

/** In capitals, which `paint` colours. */
const titleText = (title: string): string =>
  title.replace('is frozen', 'is FROZEN').replace('cannot be listed', 'CANNOT BE LISTED');

/** `shepherd fleet status`: whether daemons recover machines now, and what prevents it. */
export async function fleetStatus({ client }: Session): Promise<CommandOutput> {
  const [fleet, { sessions }, { requests }] = await Promise.all([
    client.get<Fleet>('/fleet'),
    client.get<Sessions>('/sessions'),
    client.get<RequestList>('/requests', { state: 'open', limit: 1_000 }),
  ]);
  const daemons = sessions.filter(
    ({ component, endedAtMs }) => component === DAEMON && endedAtMs === null,
  );
  const { atMs, total, counts, headline, needHuman, status, guard, budget, unlisted } = fleet;
  const shown = { atMs, total, counts, headline, needHuman, status, guard, budget, unlisted };
  return {
    document: { ...shown, daemons, requests },
    names: ['fleet'],
    text: (width) => factLines(statusFacts({ fleet, daemons, requests }), width),
  };
}

interface Status {
  readonly fleet: Fleet;
  readonly daemons: Sessions['sessions'];
  readonly requests: RequestList['requests'];
}

function statusFacts({ fleet, daemons, requests }: Status): LabelledValue[] {
  const { atMs, budget } = fleet;
  const told = requests.slice(0, REQUESTS_SHOWN);
  const more = requests.length - told.length;
  return [
    ['guard', guardTexts(fleet).join('\n')],
    ...unlistedTexts(fleet).map((line): LabelledValue => ['', line]),
    ['daemons', daemons.length === 0 ? 'none' : `${daemons.length} alive`],
    ...daemons.map(({ host, runtimeInfo, sessionId, startedAtMs }): LabelledValue => [
      '',
      `${host ?? runtimeInfo}, session ${sessionId}, since ${whenText(startedAtMs, atMs)}`,
    ]),
    ['fleet', countsText(fleet)],
    ...budget.map(({ scope, permits, budget: limit }, at): LabelledValue => [
      at === 0 ? 'recovering' : '',
      `${scope}: ${permits} of at most ${limit}`,
    ]),
    // Freezes and failed listings are shown above, with their reasons.
    ['needs you', needsText(fleet.status)],
    ['requests', requests.length === 0 ? 'none open' : `${requests.length} open`],
    ...told.map((each): LabelledValue => [
      '',
      `${each.verb} of ${each.slot ?? each.pool ?? each.provider ?? 'the fleet'} by ${each.by}, ` +
        `${spanText(atMs - each.createdAtMs)} ago, valid until ${timeText(each.expiresAtMs)}`,
    ]),
    ['', more > 0 ? `and ${more} more` : null],
  ];
}

type Scope = Fleet['guard']['scopes'][number];

/** Whether daemons recover machines now: one line for each thing that prevents it. */
export function guardTexts({ guard, atMs }: Pick<Fleet, 'guard' | 'atMs'>): string[] {
  const barring = guard.scopes.filter(({ state }) => state !== 'watching');
  return barring.length === 0
    ? ['recovery is not frozen']
    : barring.map((scope) => scopeText(scope, atMs));
}

function scopeText({ scope, state, sinceMs, reason, ends, endsAtMs }: Scope, atMs: number): string {
  const whose = scope === 'fleet' ? 'the fleet' : `provider ${scope}`;
  const since = sinceMs === null ? '' : ` since ${whenText(sinceMs, atMs)}`;
  const what = state === 'frozen' ? 'is FROZEN' : 'waits';
  const until = endsAtMs === null ? '' : ` until ${whenText(endsAtMs, atMs)}`;
  const end = ends === null ? '' : `. ${ends}`;
  return `recovery ${what} for ${whose}${since}${until}: ${reason ?? state}${end}`;
}

export const unlistedTexts = ({ unlisted, atMs }: Pick<Fleet, 'unlisted' | 'atMs'>): string[] =>
  unlisted.map(
    ({ provider, sinceMs, cause }) =>
      `provider ${provider} CANNOT BE LISTED since ${whenText(sinceMs, atMs)}: ${cause}`,
  );

export const countsText = ({ headline }: Pick<Fleet, 'headline'>): string => headlineText(headline);
