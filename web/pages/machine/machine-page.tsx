import { useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { addressOf, read } from '../../api/ask.ts';
import type { Machine } from '../../api/types.ts';
import { MachineCharts } from '../../chart/machine-charts.tsx';
import { Actions } from '../../acts/actions.tsx';
import { MACHINE_VERBS } from '../../../src/domain/verbs.ts';
import { useView } from '../../live/connection.ts';
import { machine } from '../../live/model.ts';
import { useStore } from '../../live/store.ts';
import { Notice, Panel } from '../../parts/panel.tsx';
import { CopyButton } from '../../parts/copy.tsx';
import { shortName } from '../../../src/domain/ids.ts';
import { StateMark } from '../../parts/state.tsx';
import { Since } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';
import { MachineRequests } from './requests.tsx';
import { Acceptance } from './acceptance.tsx';
import { Conditions } from './conditions.tsx';
import { Facts } from './facts.tsx';
import { HardwareReport } from './hardware.tsx';
import { History } from './history.tsx';
import { Ladder } from './ladder.tsx';
import { Operators } from './operators.tsx';
import { Why } from './why.tsx';

const readPath = <Result,>(path: readonly string[], signal: AbortSignal): Promise<Result> =>
  read<Result>(addressOf(path), signal);

const route = getRouteApi('/machines/$provider/$slot');

/** The page of one machine. */
export function MachinePage() {
  const { provider, slot } = route.useParams();
  const name = `${provider}/${slot}`;
  useView({ view: 'machine', slot: name });
  const told = useStore(machine);
  if (told === null || told.slot !== name) return <p className="waiting">{texts.link.waiting}</p>;
  if ('gone' in told) {
    return <Notice tone="quiet" title={texts.machine.gone(name)} />;
  }
  return <MachineDetails slot={[provider, slot]} machine={told} />;
}

interface MachineDetailsProps {
  readonly slot: readonly [string, string];
  readonly machine: Machine;
}

/** Resources outside the stream that change together with the machine. */
const BESIDE = ['explanation', 'ladder', 'live', 'verbs'];

function MachineDetails({ slot, machine: told }: MachineDetailsProps) {
  const name = slot.join('/');
  const queries = useQueryClient();
  const seen = useRef(told);
  useEffect(() => {
    if (seen.current === told) return;
    seen.current = told;
    for (const what of BESIDE) void queries.invalidateQueries({ queryKey: [what, ...slot] });
  }, [told]);
  return (
    <article className="machine" data-slot={name}>
      <header>
        <h1 className="slot">{shortName(name)}</h1>
        <StateMark state={told.state} substate={told.substate} />
        <span className="quiet">
          {texts.forSpan} <Since atMs={told.sinceMs} />
        </span>
        {told.elsewhere && <span className="chip">{texts.machines.elsewhere}</span>}
        {told.holds.map((kind) => (
          <span key={kind} className="chip" data-alarm>
            {kind}
          </span>
        ))}
        <p className="ids">
          {shortName(name) !== name && <Id label={texts.machines.columns.slot} id={name} />}
          {told.machineId !== null && <Id label={texts.machine.machineId} id={told.machineId} />}
        </p>
      </header>
      <Actions verbs={MACHINE_VERBS} slots={[name]} etag={told.etag} seen={told} />
      <Why slot={slot} machine={told} />
      <Panel title={texts.machine.charts} className="chart-panel">
        <MachineCharts slot={slot} read={readPath} />
      </Panel>
      <div className="halves">
        <div className="column">
          <Conditions machine={told} />
          <Acceptance slot={slot} machine={told} />
          <Operators machine={told} />
          <Ladder slot={slot} machine={told} />
          <MachineRequests slot={name} />
        </div>
        <div className="column">
          <Facts machine={told} />
          <HardwareReport slot={slot} machineId={told.machineId} />
        </div>
      </div>
      <div className="stack">
        <History slot={slot} machineId={told.machineId} />
      </div>
    </article>
  );
}

/** A long name, which one click selects and a button copies. */
const Id = ({ label, id }: { readonly label: string; readonly id: string }) => (
  <span>
    {label} <code className="mono">{id}</code>
    <CopyButton text={id} label={texts.copyOf(label)} />
  </span>
);
