import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import {
  caseInFull,
  closeCase,
  linkCase,
  noteCase,
  whoami,
  type CaseInFull,
} from '../../api/resources.ts';
import { FactList } from '../../parts/facts.tsx';
import { Loaded } from '../../parts/loaded.tsx';
import { MachineLink } from '../../parts/machine-link.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Ago } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';

const route = getRouteApi('/cases/$id');
const { facts } = texts.cases;

/** The page of one repair: its evidence and notes, and what a person may do. */
export function CasePage() {
  const { id } = route.useParams();
  const mayAct = useQuery(whoami).data?.rights.includes('operate') === true;
  return (
    <>
      <h1>{texts.cases.title(id)}</h1>
      <Loaded query={useQuery(caseInFull(id))}>
        {(found) => (
          <div className="stack" data-ready>
            <CaseFacts case={found.case} />
            <Conditions conditions={found.conditions} />
            {found.lines.map(({ atMs, kind, author, text }) => (
              <Panel
                key={`${kind} ${atMs} ${author}`}
                title={texts.cases.kinds[kind]}
                aside={
                  <span className="quiet">
                    <Ago atMs={atMs} /> {texts.cases.by} {author}
                  </span>
                }
                className={kind}
              >
                <pre>{text}</pre>
              </Panel>
            ))}
            {mayAct && (
              <Panel title={texts.cases.acts} className="acts">
                <CaseForm id={id} {...texts.cases.note} send={noteCase} />
                <CaseForm id={id} {...texts.cases.link} send={linkCase} />
                {found.case.closedAtMs === null && (
                  <CaseForm id={id} {...texts.cases.close} send={closeCase} />
                )}
              </Panel>
            )}
          </div>
        )}
      </Loaded>
    </>
  );
}

const CaseFacts = ({ case: of }: Pick<CaseInFull, 'case'>) => (
  <Panel title={of.title} className="facts">
    <FactList
      facts={[
        [facts.machine, <MachineLink slot={of.slot} />],
        [facts.opened, <Act atMs={of.openedAtMs} by={of.openedBy} />],
        [facts.part, of.part],
        [facts.ticket, of.ticketUrl !== null && <Ticket url={of.ticketUrl} />],
        [facts.closed, of.closedAtMs !== null && <Act atMs={of.closedAtMs} by={of.closedBy} />],
        [facts.outcome, of.outcome],
      ]}
    />
  </Panel>
);

const Act = ({ atMs, by }: { readonly atMs: number; readonly by: string | null }) => (
  <>
    <Ago atMs={atMs} /> {texts.cases.by} {by}
  </>
);

function Conditions({ conditions }: Pick<CaseInFull, 'conditions'>) {
  if (conditions.length === 0) return null;
  return (
    <Panel title={texts.cases.conditions} className="conditions">
      <ul>
        {conditions.map(({ atMs, actor, reason, to }) => (
          <li key={`${atMs} ${actor} ${reason}`}>
            <Ago atMs={atMs} /> {actor}: {reason} ({to})
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** A link to a ticket, which opens only what the API accepts as its address. */
export const Ticket = ({ url }: { readonly url: string | null }) =>
  url !== null && /^https?:\/\//i.test(url) ? (
    <a href={url} target="_blank" rel="noopener noreferrer">
      {url}
    </a>
  ) : (
    url
  );

interface CaseFormProps {
  readonly id: string;
  readonly label: string;
  readonly act: string;
  readonly send: (id: string, text: string) => Promise<void>;
}

/** One text and a button. */
function CaseForm({ id, label, act, send }: CaseFormProps) {
  const [text, setText] = useState('');
  const queries = useQueryClient();
  const sending = useMutation({
    mutationFn: () => send(id, text.trim()),
    onSuccess: () => {
      setText('');
      return queries.invalidateQueries({ queryKey: ['cases'] });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    sending.mutate();
  };
  return (
    <form onSubmit={submit}>
      <label>
        {label}
        <input required value={text} onChange={({ target }) => setText(target.value)} />
      </label>
      <button type="submit" disabled={sending.isPending}>
        {act}
      </button>
      {sending.error !== null && <span role="alert">{sending.error.message}</span>}
    </form>
  );
}
