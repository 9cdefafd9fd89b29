import { SUBSTATES, type MachineState } from './states.ts';

/** Severity of a share of the fleet: `warn` is amber and `bad` is red. */
export const TONES = ['good', 'quiet', 'warn', 'bad'] as const;
export type Tone = (typeof TONES)[number];

/** Machines that share one word. */
export interface Share {
  readonly word: ShareWord;
  readonly machines: number;
  readonly tone: Tone;
  /** The filter that lists exactly these machines. */
  readonly filter: string;
}

/** The fleet at a glance. Leaves out slots that their provider no longer has. */
export interface Headline {
  readonly total: number;
  /** The gravest tone of its shares. */
  readonly tone: Tone;
  /** In display order; shares without machines are left out. */
  readonly shares: readonly Share[];
  /** Machines with a true condition, whatever their share. */
  readonly conditions: number;
}
/** The filter that lists the machines with a true condition. */
export const CONDITIONS_FILTER = 'condition:any';

/**
 * Maps every state and substate to one word. State `Running` means only that an agent was started:
 * a dead machine keeps it until its recovery. So `Running` itself is never shown as a word.
 */
const SHARES = [
  { word: 'healthy', tone: 'good', places: ['Running/healthy'] },
  { word: 'silent', tone: 'bad', places: ['Running/silent'] },
  { word: 'late', tone: 'warn', places: ['Running/late'] },
  { word: 'recovering', tone: 'warn', places: ['Recovering'] },
  { word: 'quarantined', tone: 'bad', places: ['Quarantined'] },
  { word: 'failed', tone: 'bad', places: ['Provisioned/failed'] },
  { word: 'stopped', tone: 'warn', places: ['Provisioned/stopped'] },
  { word: 'backing off', tone: 'warn', places: ['Provisioned/backingOff'] },
  {
    word: 'starting',
    tone: 'quiet',
    places: ['Provisioned', 'AgentStarting', 'Running/awaitingHeartbeat'],
  },
  { word: 'installing', tone: 'quiet', places: ['Provisioned/installing', 'Running/installingOs'] },
  { word: 'handed over', tone: 'quiet', places: ['HandedOver'] },
  { word: 'left alone', tone: 'quiet', places: ['Quarantined/byOperator'] },
  { word: 'retired', tone: 'quiet', places: ['Quarantined/retired'] },
  { word: 'deprovisioning', tone: 'quiet', places: ['Deprovisioning'] },
  { word: 'creating', tone: 'quiet', places: ['Reserved/creating'] },
  { word: 'penalised', tone: 'warn', places: ['Reserved/penalised'] },
  { word: 'free', tone: 'quiet', places: ['Reserved'] },
] as const satisfies readonly { word: string; tone: Tone; places: readonly string[] }[];

export const SHARE_WORDS = SHARES.map(({ word }) => word);
export type ShareWord = (typeof SHARES)[number]['word'];

const WORDS: ReadonlyMap<string, ShareWord> = new Map(
  SHARES.flatMap(({ word, places }) => places.map((place) => [place, word] as const)),
);

/** The word for a machine; null: its slot is gone, and the machine is not counted. */
export function shareWord(place: {
  readonly state: MachineState;
  readonly substate: string;
}): ShareWord | null {
  const { state, substate } = place;
  if (state === 'Released') return null;
  return WORDS.get(`${state}/${substate}`) ?? WORDS.get(state) ?? 'starting';
}

export const TONE_OF = Object.fromEntries(SHARES.map(({ word, tone }) => [word, tone])) as Readonly<
  Record<ShareWord, Tone>
>;

/** The filter that lists the machines of each word. */
export const FILTER_OF = Object.fromEntries(
  SHARES.map(({ word, places }) => [word, `state:${places.flatMap(termsOf).join()}`]),
) as Readonly<Record<ShareWord, string>>;

/** A state covers those of its substates that have no word of their own. */
function termsOf(place: string): readonly string[] {
  if (place.includes('/')) return [place];
  const substates = SUBSTATES[place as MachineState].map((substate) => `${place}/${substate}`);
  const others = substates.filter((each) => !WORDS.has(each));
  return others.length === substates.length ? [place] : others;
}

/** @param counts may repeat a word, or a state and substate. */
export function headlineOf(
  counts: Iterable<{ readonly word: ShareWord | null; readonly machines: number }>,
  conditions = 0,
): Headline {
  const found = new Map<ShareWord, number>();
  for (const { word, machines } of counts) {
    if (word !== null) found.set(word, (found.get(word) ?? 0) + machines);
  }
  const shares = SHARES.flatMap(({ word, tone }): Share[] => {
    const machines = found.get(word) ?? 0;
    return machines > 0 ? [{ word, machines, tone, filter: FILTER_OF[word] }] : [];
  });
  const tones = [...shares.map(({ tone }) => tone), conditions > 0 ? 'warn' : 'good'] as const;
  const gravest = Math.max(...tones.map((tone) => TONES.indexOf(tone)));
  return {
    total: shares.reduce((sum, { machines }) => sum + machines, 0),
    tone: TONES[gravest]!,
    ...{ shares, conditions },
  };
}

/** `2 healthy · 10 silent of 12, 1 with conditions`. */
export function headlineText({ total, shares, conditions }: Headline): string {
  if (total === 0) return 'no machines';
  const ill = conditions > 0 ? `, ${conditions} with conditions` : '';
  return `${shares.map(({ machines, word }) => `${machines} ${word}`).join(' · ')} of ${total}${ill}`;
}
