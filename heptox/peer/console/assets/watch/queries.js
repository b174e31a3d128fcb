// The queries that are under way.
import { Code } from "../ask/code.js";
import { html } from "../libraries.js";
import { Text, counted, duration } from "../text.js";
import { cancelQuery } from "./acting.js";
import { Id, Section, Table } from "./section.js";
import { MOST, queries } from "./watching.js";

export function Queries() {
  const found = queries.value;
  const rows = found && [...found.own, ...found.neighbours];
  return html`<${Section} name="queries" title="Queries under way" rows=${rows} empty="None.">
    <${Table} label="Queries under way" columns=${["Of", "Query", "So far", ""]} numbers=${["So far"]}>
      ${found?.own.slice(0, MOST).map((one) => html`<tr key=${one.query}>
        <th scope="row">this peer</th>
        <td class="wide"><div class="short-text"><${Code} text=${one.text} /></div></td>
        <td class="number">${counted(one.items, "item")}</td>
        <td class="deeds"><button class="small danger" onClick=${() => cancelQuery(one.query)}>Cancel</button></td>
      </tr>`)}
      ${found?.neighbours.slice(0, MOST).map((one) => html`<tr key=${`${one.neighbour} ${one.query} ${one.path.join("\n")}`}>
        <th scope="row"><${Text} value=${one.name || "a stranger"} most=${120} /><${Id} id=${one.neighbour} /></th>
        <td class="wide faint">asked along <${Text} value=${one.path.join(" › ")} most=${400} /><${Id} id=${one.query} /></td>
        <td class="number">${counted(one.items, "item")}<div class="faint">${duration(one.milliseconds)}</div></td>
        <td></td>
      </tr>`)}
    </${Table}>
  </${Section}>`;
}
