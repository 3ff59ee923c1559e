// Puts the page about a sweep together from the data it carries.
import { showSweep } from "./sweep.js";

showSweep(document.getElementById("page"), JSON.parse(document.getElementById("data").textContent));
