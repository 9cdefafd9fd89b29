import type { ReactNode } from 'react';

export interface TableProps {
  /** What it is about, for those who cannot see where it stands. */
  readonly label: string;
  readonly columns: readonly string[];
  /** Columns of figures, by their place. */
  readonly figures?: readonly number[];
  /** Rows of it. */
  readonly children: ReactNode;
}

/** A table that scrolls by itself where it is wider than the page. */
export const Table = ({ label, columns, figures = [], children }: TableProps) => (
  <div className="scrolls" tabIndex={0} role="group" aria-label={label}>
    <table>
      <thead>
        <tr>
          {columns.map((column, at) =>
            column === '' ? (
              <td key={column} />
            ) : (
              <th key={column} scope="col" className={figures.includes(at) ? 'number' : undefined}>
                {column}
              </th>
            ),
          )}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
);
