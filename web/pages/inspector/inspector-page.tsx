import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { about } from '../../api/resources.ts';
import { Notice } from '../../parts/panel.tsx';
import { ActorPanel, ActorTree } from './actors.tsx';
import './inspector.css';
import { useLive } from './live.ts';
import { MachineChoice, OpenFile, SaveFile } from './choices.tsx';
import { Sequence } from './sequence.tsx';
import { Stepper } from './stepper.tsx';
import { after, stepsOf, type Story } from './story.ts';
import { words } from './words.ts';

const route = getRouteApi('/inspector');

/** An opened recording, shown instead of live data. */
export interface OpenRecording {
  readonly name: string;
  readonly story: Story;
}

/** The inspector: statecharts of actors with their current states, and their messages. */
export function InspectorPage() {
  const { slot = '' } = route.useSearch();
  const [file, setFile] = useState<OpenRecording | null>(null);
  const { story, dropped, isConnected, refusal } = useLive(slot, file === null);
  const relay = useQuery(about).data?.inspectorUrl ?? '';
  return (
    <article className="inspector">
      <header>
        <h1>{words.title}</h1>
        <span className="quiet">{file ? words.ofFile(file.name) : words.about}</span>
        {dropped > 0 && <span className="chip">{words.dropped(dropped)}</span>}
      </header>
      <div className="choices">
        <MachineChoice slot={slot} />
        <OpenFile take={setFile} />
        {!file && <SaveFile slot={slot} story={story} />}
        {file && (
          <button type="button" onClick={() => setFile(null)}>
            {words.close}
          </button>
        )}
        {/^https?:\/\//.test(relay) && (
          <a
            href={`${relay}${slot && `?slot=${encodeURIComponent(slot)}`}`}
            target="_blank"
            rel="noopener"
          >
            {words.stately}
          </a>
        )}
      </div>
      {/* Whoever may not look is told why; files are opened all the same. */}
      {!file && refusal !== null && <Notice tone="warn" title={refusal} />}
      {!file && refusal === null && !isConnected && <Notice tone="warn">{words.ended}</Notice>}
      {(file || refusal === null) && (
        <StoryView key={file?.name ?? slot} story={file?.story ?? story} />
      )}
    </article>
  );
}

/** The story at the chosen step, or at its end. */
function StoryView({ story }: { readonly story: Story }) {
  const [chosenStep, setStep] = useState<number | null>(null);
  const [chosenActor, setActor] = useState<string | null>(null);
  const steps = useMemo(() => stepsOf(story), [story]);
  const at = chosenStep === null ? steps.length - 1 : indexOf(steps, chosenStep);
  const step = steps[at] ?? null;
  const isLatest = chosenStep === null;
  const actors = useMemo(() => {
    const until = isLatest || !step ? undefined : step.number - story.forgotten + 1;
    return after(story.before, story.messages.slice(0, until));
  }, [story, step, isLatest]);
  const actor = actors.get(chosenActor ?? '') ?? firstShown(actors);
  const go = (to: number) => setStep(to >= steps.length - 1 ? null : (steps[to]?.number ?? null));
  return (
    <>
      <Stepper steps={steps} at={at} isLatest={isLatest} go={go} />
      <div className="stage">
        <ActorTree actors={actors} chosen={actor?.id ?? null} choose={setActor} />
        {actor && <ActorPanel actor={actor} />}
      </div>
      <Sequence steps={steps} at={at} isLatest={isLatest} go={go} />
    </>
  );
}

/** The step with this number, or the first later step if that one was dropped. */
function indexOf(steps: readonly { readonly number: number }[], number: number): number {
  const found = steps.findIndex((step) => step.number >= number);
  return found < 0 ? steps.length - 1 : found;
}

/** The chosen machine, if there is one. */
function firstShown(actors: ReturnType<typeof after>) {
  const all = [...actors.values()];
  return all.find(({ chart }) => chart === 'lifecycle') ?? all.find(({ chart }) => chart !== null);
}
