import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { FAILURE_KINDS, type FailureKind } from '../../../src/domain/failures.ts';
import { failures, type FailureGroup } from '../../api/resources.ts';
import { Loaded } from '../../parts/loaded.tsx';
import { Panel } from '../../parts/panel.tsx';
import { span } from '../../parts/span.ts';
import { Table } from '../../parts/table.tsx';
import { texts } from '../../texts.ts';

/** Which kinds of machines fail most often. Hidden while no machine was recovered. */
export function Failures() {
  const [by, choose] = useState<FailureKind>('plan');
  const query = useQuery(failures(by));
  if (query.error === null && !query.data?.fleet.episodes) return null;
  const select = (
    <select
      value={by}
      aria-label={texts.failures.by}
      onChange={({ target }) => choose(target.value as FailureKind)}
    >
      {FAILURE_KINDS.map((kind) => (
        <option key={kind} value={kind}>
          {texts.failures.kinds[kind]}
        </option>
      ))}
    </select>
  );
  return (
    <Panel title={texts.failures.title} aside={select} className="failures">
      <p className="quiet">{texts.failures.about}</p>
      <Loaded query={query}>
        {({ groups }) => (
          <Table
            label={texts.failures.title}
            columns={texts.failures.columns}
            figures={[1, 2, 3, 4, 5, 6]}
          >
            {groups.map((group) => (
              <Row key={group.name} {...group} />
            ))}
          </Table>
        )}
      </Loaded>
    </Panel>
  );
}

const Row = (group: FailureGroup) => {
  const { name, machines, machineDays, episodes, ratio, repairP50Ms, repairP95Ms } = group;
  const figures = [
    ...[machines, Math.round(machineDays), episodes].map(texts.figure),
    ratio === null ? texts.none : texts.failures.ratio(ratio),
    ...[repairP50Ms, repairP95Ms].map((ms) => (ms === null ? texts.none : span(ms))),
  ];
  return (
    <tr data-failures={name}>
      <th scope="row">{name}</th>
      {figures.map((text, at) => (
        <td key={texts.failures.columns[at + 1]} className="number">
          {text}
        </td>
      ))}
    </tr>
  );
};
